// SPDX-License-Identifier: MIT
#include "norite/npy.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <ostream>
#include <string>

#include "support.hpp"

namespace norite {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A file of this version with this header and so many bytes of data: 0, 1, 2, ...
Bytes file_of(std::string_view header, size_t data_bytes = 0, int version = 1) {
  Bytes bytes = bytes_of("\x93NUMPY");
  bytes.push_back(std::byte(version));
  bytes.push_back(std::byte(0));
  for (size_t i = 0; i < (version == 1 ? 2u : 4u); ++i) {
    bytes.push_back(std::byte(header.size() >> (8 * i)));
  }
  const Bytes text = bytes_of(header);
  bytes.insert(bytes.end(), text.begin(), text.end());
  for (size_t i = 0; i < data_bytes; ++i) bytes.push_back(std::byte(i));
  return bytes;
}

std::string header_of(std::string_view descr, std::string_view shape,
                      std::string_view fortran_order = "False") {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}   \n", descr,
                     fortran_order, shape);
}

std::filesystem::path temporary(std::string_view name) {
  return std::filesystem::path(testing::TempDir()) / name;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Npy, reads_what_numpy_writes) {
  // numpy.save("x.npy", numpy.array([[1, 2, 3], [4, 5, 6]], dtype="uint8"))
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }";
  header.append(117 - header.size(), ' ');
  const auto array = parse_npy(file_of(header + "\n", 6));
  ASSERT_TRUE(array) << array.error().message;
  EXPECT_EQ(array->dtype, DType::u8);
  EXPECT_EQ(array->shape, (Shape{2, 3}));
  EXPECT_EQ(array->data, (Bytes{std::byte(0), std::byte(1), std::byte(2), std::byte(3),
                                std::byte(4), std::byte(5)}));
}

TEST(Npy, knows_every_dtype) {
  const std::pair<const char*, DType> dtypes[] = {
      {"'<f4'", DType::f32}, {"'<f2'", DType::f16}, {"'<i4'", DType::i32},
      {"'<u4'", DType::u32}, {"'<i2'", DType::i16}, {"'<u2'", DType::u16},
      {"'|i1'", DType::i8},  {"'|u1'", DType::u8},  {"'|b1'", DType::u8}};
  for (const auto& [descr, dtype] : dtypes) {
    const auto size = static_cast<size_t>(3 * size_of(dtype));
    const auto array = parse_npy(file_of(header_of(descr, "(3,)"), size));
    ASSERT_TRUE(array) << array.error().message;
    EXPECT_EQ(array->dtype, dtype) << descr;
    EXPECT_EQ(array->data.size(), size);
  }
}

TEST(Npy, reads_every_version_and_way_of_writing_a_header) {
  for (const int version : {1, 2, 3}) {
    EXPECT_TRUE(parse_npy(file_of(header_of("'<f4'", "(2,)"), 8, version))) << version;
  }
  for (const char* header :
       {"{'shape':(2,),'fortran_order':False,'descr':'<f4'}",
        "{\"descr\": \"<f4\", \"fortran_order\": True, \"shape\": (2,)}",
        " { 'descr' : '<f4' , 'fortran_order' : False , 'shape' : ( 2 , 1 , ) , } \n"}) {
    const auto array = parse_npy(file_of(header, 8));
    EXPECT_TRUE(array) << header << ": " << array.error().message;
  }
}

TEST(Npy, reads_arrays_of_one_element_and_of_none) {
  const auto scalar = parse_npy(file_of(header_of("'<f4'", "()", "True"), 4));
  ASSERT_TRUE(scalar) << scalar.error().message;
  EXPECT_EQ(scalar->shape, Shape{});
  const auto none = parse_npy(file_of(header_of("'<f4'", "(0, 4)")));
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_EQ(none->shape, (Shape{0, 4}));
  EXPECT_TRUE(none->data.empty());
}

TEST(Npy, every_truncation_is_refused) {
  const Bytes whole = file_of(header_of("'<f4'", "(2, 3)"), 24);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto array = parse_npy(std::span(whole).first(size));
    ASSERT_FALSE(array) << size;
    EXPECT_EQ(array.error().code, Code::bad_file);
  }
}

TEST(NpyWrite, is_read_back) {
  for (const DType dtype : kAllDTypes) {
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 3}, Shape{1, 2, 3, 4, 5, 6, 7, 8}}) {
      NpyArray array{dtype, shape, Bytes(static_cast<size_t>(*shape.count() * size_of(dtype)))};
      for (size_t i = 0; i < array.data.size(); ++i) array.data[i] = std::byte(i);
      const auto path = temporary("written.npy");
      const auto written = write_npy(path, array);
      ASSERT_TRUE(written) << written.error().message;
      const auto read = read_npy(path);
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(read->dtype, dtype == DType::bf16 ? DType::u16 : dtype);
      EXPECT_EQ(read->shape, shape);
      EXPECT_EQ(read->data, array.data);
    }
  }
}

TEST(NpyWrite, makes_the_bytes_that_numpy_makes) {
  const auto path = temporary("bytes.npy");
  ASSERT_TRUE(write_npy(path, {DType::i16, {2}, Bytes(4, std::byte('x'))}));
  std::string expected("\x93NUMPY\x01\0v\0", 10);
  expected += "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }";
  expected.append(127 - expected.size(), ' ');
  EXPECT_EQ(contents(path), expected + "\nxxxx");
}

TEST(NpyWrite, replaces_a_file_and_leaves_nothing_beside_it) {
  const auto folder = temporary("npy_folder");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(write_npy(folder / "x.npy", {DType::u8, {1}, Bytes(1)}));
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(NpyWrite, follows_links_and_keeps_rights) {
  namespace fs = std::filesystem;
  const auto file = temporary("npy_target.npy"), link = temporary("npy_link.npy");
  fs::remove(link);
  ASSERT_TRUE(write_npy(file, {DType::u8, {1}, Bytes(1)}));
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(file, link);
  ASSERT_TRUE(write_npy(link, {DType::u8, {2}, Bytes(2)}));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(test::must(read_npy(file)).shape, Shape{2});
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::remove(file);
  ASSERT_TRUE(write_npy(link, {DType::u8, {3}, Bytes(3)}));  // to where there is no file yet
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(test::must(read_npy(file)).shape, Shape{3});
}

TEST(NpyWrite, leaves_what_is_no_file_as_it_is) {
  const auto pipe = temporary("npy_pipe");
  std::filesystem::remove(pipe);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::filesystem::path& path : {pipe, temporary(".")}) {
    test::expect_error(write_npy(path, {DType::u8, {1}, Bytes(1)}), Code::bad_file,
                       {"no regular file"});
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(NpyWrite, refuses_data_that_does_not_fit) {
  for (const size_t size : {0, 11, 13, 16}) {
    const auto written = write_npy(temporary("misfit.npy"), {DType::f32, {3}, Bytes(size)});
    ASSERT_FALSE(written) << size;
    EXPECT_EQ(written.error().code, Code::invalid_argument);
  }
}

TEST(NpyWrite, says_which_file_it_cannot_write) {
  const auto written = write_npy("/no/such/folder/x.npy", {DType::u8, {1}, Bytes(1)});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::bad_file);
  EXPECT_NE(written.error().message.find("/no/such/folder/x.npy"), std::string::npos);
}

TEST(NpyRead, missing_file_is_not_found) {
  const auto array = read_npy("/no/such/file.npy");
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().code, Code::not_found);
  EXPECT_EQ(array.error().message, R"(npy: "/no/such/file.npy": no such file)");
}

TEST(NpyRead, folder_is_a_bad_file) {
  const auto array = read_npy(testing::TempDir());
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().code, Code::bad_file);
}

struct Malformed {
  const char* name;
  Bytes bytes;
  const char* reason;
};
void PrintTo(const Malformed& file, std::ostream* out) { *out << file.name; }

Bytes with_version(int major, int minor) {
  Bytes bytes = file_of(header_of("'<f4'", "(1,)"), 4);
  bytes[6] = std::byte(major);
  bytes[7] = std::byte(minor);
  return bytes;
}

Bytes with_length(uint32_t length) {
  Bytes bytes = file_of(header_of("'<f4'", "(1,)"), 4, 2);
  std::memcpy(bytes.data() + 8, &length, sizeof length);
  return bytes;
}

Bytes array_of(std::string_view descr, std::string_view shape,
               std::string_view fortran_order = "False", size_t data_bytes = 4) {
  return file_of(header_of(descr, shape, fortran_order), data_bytes);
}

const Malformed kMalformed[] = {
    {"empty", {}, "ends early"},
    {"other_file", bytes_of("PK\x03\x04 a zip archive"), "does not begin with \\x93NUMPY"},
    {"version_0", with_version(0, 0), "format version 0.0, expected 1.0, 2.0 or 3.0"},
    {"version_4", with_version(4, 0), "format version 4.0"},
    {"minor_version", with_version(1, 1), "format version 1.1"},
    {"header_longer_than_file", with_length(1000), "ends early"},
    {"header_of_4_gib", with_length(UINT32_MAX), "claims 4294967295 bytes, at most 65536"},
    {"no_header", file_of(""), "its end where '{' is expected"},
    {"garbage", file_of("\x1b[31mred"), "malformed: '?[31mred' where '{' is expected"},
    {"unfinished", file_of("{'descr': '<f4'"), "its end where '}' is expected"},
    {"unfinished_string", file_of("{'descr"), "where a quoted string is expected"},
    {"two_dicts", file_of(header_of("'<f4'", "(1,)") + "{}", 4), "'{}' where the end is expected"},
    {"comma_alone", file_of("{,}"), "where a quoted string is expected"},
    {"no_keys", file_of("{}"), "needs 'descr', 'fortran_order' and 'shape'"},
    {"no_shape", file_of("{'descr': '<f4', 'fortran_order': False}"), "needs 'descr'"},
    {"key_twice", file_of("{'descr': '<f4', 'descr': '<f4'}"), "has 'descr' twice"},
    {"unknown_key", file_of("{'order': 1}"), "unknown key 'order'"},
    {"float64", array_of("'<f8'", "(1,)"), "dtype '<f8'; taken are little-endian float32"},
    {"int64", array_of("'<i8'", "(1,)"), "dtype '<i8'; taken are"},
    {"big_endian", array_of("'>f4'", "(1,)"), "dtype '>f4'; taken are"},
    {"object", array_of("'|O'", "(1,)"), "dtype '|O'; taken are"},
    {"structured", array_of("[('a', '<f4')]", "(1,)"), "structured dtype; taken are"},
    {"descr_is_a_number", array_of("4", "(1,)"), "where a quoted string is expected"},
    {"order_is_a_number", array_of("'<f4'", "(1,)", "0"), "where True or False is expected"},
    {"columns", array_of("'<f4'", "(2, 2)", "True", 16), "[2, 2] is stored by columns"},
    {"shape_is_a_list", array_of("'<f4'", "[1]"), "where '(' is expected"},
    {"shape_is_no_tuple", array_of("'<f4'", "(1)"), "where a tuple is expected"},
    {"shape_without_comma", array_of("'<f4'", "(1 1)"), "where ',' or ')' is expected"},
    {"negative_extent", array_of("'<f4'", "(-1,)"), "where an extent below 2^63 is expected"},
    {"fraction", array_of("'<f4'", "(1.5,)"), "where ',' or ')' is expected"},
    {"extent_past_64_bits", array_of("'<f4'", "(18446744073709551616,)"), "below 2^63"},
    {"rank_nine", array_of("'<f4'", "(1,1,1,1,1,1,1,1,1)"), "more than 8 extents"},
    {"product_overflow", array_of("'|u1'", "(4294967296, 4294967296)"), "passes 2^63 bytes"},
    {"product_times_size_overflow", array_of("'<f4'", "(4611686018427387905,)"), "passes 2^63"},
    {"overflow_behind_zero", array_of("'|u1'", "(0, 4294967296, 4294967296)"), "passes 2^63"},
    {"huge", array_of("'|u1'", "(4611686018427387904,)"), "4 bytes of data, expected 4611686018"},
    {"too_little_data", array_of("'<f4'", "(2,)"), "4 bytes of data, expected 8 for f32 [2]"},
    {"too_much_data", array_of("'<f2'", "(1,)"), "4 bytes of data, expected 2 for f16 [1]"},
};

class NpyMalformed : public testing::TestWithParam<Malformed> {};

TEST_P(NpyMalformed, is_refused_with_its_reason) {
  const auto array = parse_npy(GetParam().bytes);
  ASSERT_FALSE(array);
  EXPECT_EQ(array.error().code, Code::bad_file);
  EXPECT_NE(array.error().message.find(GetParam().reason), std::string::npos)
      << array.error().message;
}

INSTANTIATE_TEST_SUITE_P(Files, NpyMalformed, testing::ValuesIn(kMalformed),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace norite
