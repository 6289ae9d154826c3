// SPDX-License-Identifier: MIT
#include "norite/safetensors.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <ostream>

namespace norite {
namespace {

// A file of this header and so many bytes of data: 0, 1, 2, ...
std::vector<std::byte> file_of(std::string_view header, size_t data_bytes = 0) {
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  for (size_t i = 0; i < 8; ++i) bytes[i] = std::byte(header.size() >> (8 * i));
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  for (size_t i = 0; i < data_bytes; ++i) bytes[8 + header.size() + i] = std::byte(i);
  return bytes;
}

std::filesystem::path written(std::string_view name, std::span<const std::byte> bytes) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
  return path;
}

constexpr std::string_view kTwoTensors =
    R"({"__metadata__":{"made by":"hand"},)"
    R"("b":{"dtype":"I64","shape":[],"data_offsets":[24,32]},)"
    R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}   )";

TEST(Safetensors, reads_names_shapes_data_and_metadata) {
  const auto file = SafetensorsFile::parse(file_of(kTwoTensors, 32));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(file->metadata(), (std::map<std::string, std::string>{{"made by", "hand"}}));

  const auto a = file->find("a");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->dtype, "F32");
  EXPECT_EQ(a->shape, (Shape{2, 3}));
  EXPECT_EQ(a->data.size(), 24U);
  const auto b = file->find("b");
  ASSERT_TRUE(b);
  EXPECT_EQ(b->shape, Shape{});
  ASSERT_EQ(b->data.size(), 8U);
  EXPECT_EQ(b->data.front(), std::byte(24));
}

TEST(Safetensors, knows_every_dtype_by_its_size) {
  const std::map<std::string, int> sizes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4}, {"I16", 2},
      {"I8", 1},  {"U64", 8}, {"U32", 4}, {"U16", 2},  {"U8", 1},  {"BOOL", 1}};
  for (const auto& [dtype, size] : sizes) {
    const auto header = fmt::format(R"({{"t":{{"dtype":"{}","shape":[3],"data_offsets":[0,{}]}}}})",
                                    dtype, 3 * size);
    const auto file = SafetensorsFile::parse(file_of(header, 3 * static_cast<size_t>(size)));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->find("t")->dtype, dtype);
  }
}

TEST(Safetensors, takes_a_file_without_tensors_and_tensors_without_elements) {
  EXPECT_TRUE(SafetensorsFile::parse(file_of("{}")));
  const auto file = SafetensorsFile::parse(
      file_of(R"({"none":{"dtype":"F32","shape":[0,4],"data_offsets":[4,4]},)"
              R"("one":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
              R"("nil":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
              4));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->find("none")->data.empty());
  EXPECT_EQ(file->find("none")->shape, (Shape{0, 4}));
}

TEST(Safetensors, unknown_tensor_is_not_found) {
  const auto tensor = SafetensorsFile::parse(file_of("{}"))->find("\x1b[31mred");
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, Code::not_found);
  // What a file calls its tensors must not steer a terminal.
  EXPECT_EQ(tensor.error().message, R"(safetensors: no tensor "\u001b[31mred")");
}

TEST(Safetensors, data_outlives_the_handle_it_was_found_through) {
  auto file = *SafetensorsFile::parse(file_of(kTwoTensors, 32));
  const auto data = file.find("b")->data;
  const SafetensorsFile copy = file;
  file = *SafetensorsFile::parse(file_of("{}"));
  EXPECT_EQ(data.front(), std::byte(24));
}

TEST(SafetensorsOpen, reads_from_disk) {
  const auto file = SafetensorsFile::open(written("good.safetensors", file_of(kTwoTensors, 32)));
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->find("a")->data[23], std::byte(23));
}

TEST(SafetensorsOpen, missing_file_is_not_found) {
  const auto file = SafetensorsFile::open("/no/such/file.safetensors");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::not_found);
  EXPECT_EQ(file.error().message, R"(safetensors: "/no/such/file.safetensors": no such file)");
}

TEST(SafetensorsOpen, folder_is_a_bad_file) {
  const auto file = SafetensorsFile::open(testing::TempDir());
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::bad_file);
}

TEST(SafetensorsOpen, message_names_the_file) {
  const auto file = SafetensorsFile::open(written("list.safetensors", file_of("[]")));
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("list.safetensors\": the header"), std::string::npos);
}

TEST(Safetensors, every_truncation_is_refused) {
  const auto whole = file_of(kTwoTensors, 32);
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto file = SafetensorsFile::parse(std::span(whole).first(size));
    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().code, Code::bad_file);
  }
}

struct Malformed {
  const char* name;
  std::vector<std::byte> bytes;
  const char* reason;
};
void PrintTo(const Malformed& file, std::ostream* out) { *out << file.name; }

// One tensor with these fields in a file with 4 bytes of data.
std::vector<std::byte> tensor_of(std::string_view fields) {
  return file_of(fmt::format(R"({{"t":{{{}}}}})", fields), 4);
}

std::vector<std::byte> with_length(uint64_t length) {
  auto bytes = file_of("{}");
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes;
}

std::vector<std::byte> nested(size_t depth) {
  return file_of(R"({"t":)" + std::string(depth, '[') + std::string(depth, ']') + "}");
}

const Malformed kMalformed[] = {
    {"empty", {}, "ends early"},
    {"seven_bytes", std::vector<std::byte>(7), "ends early"},
    {"no_header", std::vector<std::byte>(8), "does not begin with '{'"},
    {"header_longer_than_file", with_length(3), "claims 3 bytes, the file has 10"},
    {"header_length_2_64", with_length(UINT64_MAX), "claims 18446744073709551615 bytes, at most"},
    {"header_past_the_cap", with_length(100'000'001), "at most 100000000 are read"},
    {"not_json", file_of("{tensors}"), "not valid JSON at its byte 3"},
    {"unfinished_json", file_of(R"({"t":)"), "not valid JSON"},
    {"two_values", file_of("{}{}"), "not valid JSON"},
    {"list", file_of("[]"), "does not begin with '{'"},
    {"leading_space", file_of(" {}"), "does not begin with '{'"},
    {"byte_order_mark", file_of("\xEF\xBB\xBF{}"), "does not begin with '{'"},
    {"zero_byte", file_of(std::string_view("{}\0junk", 7)), "zero byte"},
    {"broken_utf8", file_of("{\"\xFF\":{}}"), "not valid JSON"},
    {"deep", nested(100'000), "\"t\" is an array, expected an object"},
    {"tensor_is_a_number", file_of(R"({"t":1})"), "\"t\" is a number, expected an object"},
    {"tensor_is_null", file_of(R"({"t":null})"), "\"t\" is null, expected an object"},
    {"tensor_without_fields", file_of(R"({"t":{}})"), "needs dtype, shape and data_offsets"},
    {"no_dtype", tensor_of(R"("shape":[1],"data_offsets":[0,4])"), "needs dtype"},
    {"no_shape", tensor_of(R"("dtype":"F32","data_offsets":[0,4])"), "needs dtype"},
    {"no_offsets", tensor_of(R"("dtype":"F32","shape":[1])"), "needs dtype"},
    {"unknown_dtype", tensor_of(R"("dtype":"F31","shape":[1],"data_offsets":[0,4])"),
     "unknown dtype \"F31\""},
    {"dtype_is_a_number", tensor_of(R"("dtype":32,"shape":[1],"data_offsets":[0,4])"),
     "\"t\".\"dtype\" holds a number"},
    {"unknown_field", tensor_of(R"("stride":"1")"), "\"t\".\"stride\" holds a string"},
    {"object_field", tensor_of(R"("shape":{"0":1})"), "\"t\".\"shape\" holds an object"},
    {"negative_extent", tensor_of(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"),
     "holds a negative number"},
    {"fractional_extent", tensor_of(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"),
     "no 64-bit integer"},
    {"extent_past_64_bits",
     tensor_of(R"("dtype":"F32","shape":[18446744073709551617],"data_offsets":[0,4])"),
     "no 64-bit integer"},
    {"boolean_extent", tensor_of(R"("dtype":"F32","shape":[true],"data_offsets":[0,4])"),
     "holds a boolean"},
    {"nested_shape", tensor_of(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])"),
     "\"t\".\"shape\" holds an array"},
    {"rank_nine", tensor_of(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4])"),
     "more than 8 entries"},
    {"product_overflow",
     tensor_of(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"),
     "passes 2^63 bytes"},
    {"product_times_size_overflow",
     tensor_of(R"("dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4])"),
     "passes 2^63 bytes"},
    {"overflow_behind_zero",
     tensor_of(R"("dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0])"),
     "passes 2^63 bytes"},
    {"one_offset", tensor_of(R"("dtype":"F32","shape":[1],"data_offsets":[0])"),
     "1 data_offsets, expected 2"},
    {"three_offsets", tensor_of(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,8])"),
     "3 data_offsets, expected 2"},
    {"reversed_offsets", tensor_of(R"("dtype":"F32","shape":[1],"data_offsets":[4,0])"),
     "do not span the 4 bytes of F32 [1]"},
    {"size_mismatch", tensor_of(R"("dtype":"F16","shape":[1],"data_offsets":[0,4])"),
     "do not span the 2 bytes of F16 [1]"},
    {"out_of_range", tensor_of(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"),
     "ends at byte 8 of 4 bytes of data"},
    {"far_out_of_range",
     tensor_of(R"("dtype":"U8","shape":[0],"data_offsets":[18446744073709551615,)"
               R"(18446744073709551615])"),
     "ends at byte 18446744073709551615"},
    {"gap_in_front", tensor_of(R"("dtype":"F16","shape":[1],"data_offsets":[2,4])"), "leave a gap"},
    {"data_left_over", tensor_of(R"("dtype":"F16","shape":[1],"data_offsets":[0,2])"),
     "2 bytes of data belong to no tensor"},
    {"overlap",
     file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
             6),
     "tensor \"b\" begins at byte 2, expected 4: tensors overlap"},
    {"same_bytes_twice",
     file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
             4),
     "tensors overlap"},
    {"duplicate_tensor",
     file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
             R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
             8),
     "the key \"a\" appears twice"},
    {"duplicate_dtype", tensor_of(R"("dtype":"F32","dtype":"F32")"),
     "the key \"dtype\" appears twice in \"t\""},
    {"duplicate_shape", tensor_of(R"("shape":[],"shape":[])"), "appears twice"},
    {"duplicate_offsets", tensor_of(R"("data_offsets":[0,4],"data_offsets":[0,4])"),
     "appears twice"},
    {"duplicate_metadata", file_of(R"({"__metadata__":{},"__metadata__":{}})"), "appears twice"},
    {"duplicate_metadata_key", file_of(R"({"__metadata__":{"k":"1","k":"1"}})"),
     "the key \"k\" appears twice in \"__metadata__\""},
    {"metadata_is_a_string", file_of(R"({"__metadata__":"x"})"), "expected an object"},
    {"metadata_number", file_of(R"({"__metadata__":{"k":1}})"), "holds a number"},
    {"metadata_object", file_of(R"({"__metadata__":{"k":{}}})"), "holds an object"},
};

class SafetensorsMalformed : public testing::TestWithParam<Malformed> {};

TEST_P(SafetensorsMalformed, is_refused_with_its_reason) {
  const auto file = SafetensorsFile::parse(GetParam().bytes);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, Code::bad_file);
  EXPECT_NE(file.error().message.find(GetParam().reason), std::string::npos)
      << file.error().message;
}

INSTANTIATE_TEST_SUITE_P(Files, SafetensorsMalformed, testing::ValuesIn(kMalformed),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace norite
