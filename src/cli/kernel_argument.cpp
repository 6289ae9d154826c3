// SPDX-License-Identifier: MIT
#include "cli/kernel_argument.hpp"

#include "cases/values.hpp"
#include "cli/kernel_syntax.hpp"
#include "cli/kernel_values.hpp"

#include <norite/npy.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <optional>

namespace norite::cli {
namespace {

constexpr std::string_view kZeros = "zeros:";
constexpr std::string_view kRandom = "random:";
constexpr std::string_view kBytes = "bytes:";
constexpr std::string_view kAsBf16 = ":bf16";

Result<DType> dtype_named(std::string_view text) {
  if (const auto dtype = parse_dtype(text)) return *dtype;
  std::string names;
  for (const DType dtype : kAllDTypes) names += fmt::format(" {}", name(dtype));
  return fail(Code::invalid_argument, fmt::format("'{}' is no dtype; there are{}", text, names));
}

/// "f32[4,5]" behind kZeros or kRandom
template <class Filled>
Result<Filled> parse_filled(std::string_view kind, std::string_view text) {
  const size_t open = text.find('[');
  if (open == text.npos || !text.ends_with(']')) {
    return fail(Code::invalid_argument,
                fmt::format("expected a dtype and a shape, as in {}f32[4,5]", kind));
  }
  Filled filled;
  NORITE_TRY_ASSIGN(filled.dtype, dtype_named(text.substr(0, open)));
  for (const std::string_view extent :
       split_commas(text.substr(open + 1, text.size() - open - 2))) {
    NORITE_TRY_ASSIGN(const int64_t size, parse_integer(extent, 1));
    filled.shape.push_back(size);
  }
  if (!filled.shape.valid()) {
    return fail(Code::invalid_argument,
                fmt::format("the shape has more than {} extents", Shape::kMaxRank));
  }
  return filled;
}

Result<ArgumentSpec> parse_random(std::string_view text) {
  NORITE_TRY_ASSIGN(const auto random, parse_filled<RandomArgument>(kRandom, text));
  if (is_float(random.dtype)) return random;
  return fail(Code::invalid_argument,
              fmt::format("random numbers of {}, expected f32, f16 or bf16", name(random.dtype)));
}

/// "f32:1e-6,300", or with other dtypes along the way, as a struct has them: "f32:1e-6,u32:300".
Result<ArgumentSpec> parse_bytes(std::string_view text) {
  BytesArgument constants;
  std::optional<DType> dtype;
  for (std::string_view value : split_commas(text)) {
    if (const size_t colon = value.find(':'); colon != value.npos) {
      NORITE_TRY_ASSIGN(dtype, dtype_named(value.substr(0, colon)));
      value.remove_prefix(colon + 1);
    }
    if (!dtype) {
      return fail(Code::invalid_argument, "expected a dtype and values, as in bytes:f32:1e-6,300");
    }
    NORITE_TRY(append_value(constants.bytes, *dtype, value));
  }
  return constants;
}

Result<ArgumentSpec> parse_path(const std::string& text) {
  if (text.ends_with(kAsBf16)) {
    return FileArgument{text.substr(0, text.size() - kAsBf16.size()), /*as_bf16=*/true};
  }
  std::error_code error;
  if (text.ends_with(".npy") || std::filesystem::exists(text, error)) return FileArgument{text};
  return fail(Code::invalid_argument,
              "expected FILE.npy, FILE.npy:bf16, zeros:DTYPE[SHAPE], random:DTYPE[SHAPE] or "
              "bytes:DTYPE:VALUES");
}

Result<NpyArray> load(const FileArgument& file) {
  NORITE_TRY_ASSIGN(NpyArray array, read_npy(file.path));
  if (file.as_bf16) {
    if (array.dtype != DType::u16 && array.dtype != DType::i16) {
      return fail(Code::bad_file,
                  fmt::format("{}: {} cannot be read as bf16, expected 16-bit integers", file.path,
                              name(array.dtype)));
    }
    array.dtype = DType::bf16;
  }
  if (!array.data.empty()) return array;
  return fail(Code::bad_file, fmt::format("{}: an array of shape {} has no elements", file.path,
                                          to_string(array.shape)));
}

Result<ArgumentBuffer> make_filled(const Device& device, NpyArray array) {
  ArgumentBuffer result{.buffer = {}, .initial = std::move(array.data)};
  NORITE_TRY_ASSIGN(result.buffer, device.empty(array.dtype, array.shape));
  NORITE_TRY(result.reset());
  return result;
}

Result<ArgumentBuffer> make_random(const Device& device, const RandomArgument& random,
                                   int64_t index) try {
  NORITE_TRY_ASSIGN(Buffer buffer, device.empty(random.dtype, random.shape));
  const auto values = cases::random_values(fmt::format("kernel run {}", index), buffer.count());
  ArgumentBuffer result{std::move(buffer), cases::encode(random.dtype, values)};
  NORITE_TRY(result.reset());
  return result;
} catch (const std::bad_alloc&) {
  return fail(Code::out_of_memory,
              fmt::format("no memory for {} random numbers", to_string(random.shape)));
}

}  // namespace

Result<ArgumentSpec> parse_argument(const std::string& text) {
  const std::string_view view = text;
  if (view.starts_with(kZeros)) {
    return parse_filled<ZerosArgument>(kZeros, view.substr(kZeros.size()));
  }
  if (view.starts_with(kRandom)) return parse_random(view.substr(kRandom.size()));
  if (view.starts_with(kBytes)) return parse_bytes(view.substr(kBytes.size()));
  return parse_path(text);
}

Result<ArgumentBuffer> ArgumentBuffer::make(const Device& device, const ArgumentSpec& spec,
                                            int64_t index) {
  if (const auto* zeros = std::get_if<ZerosArgument>(&spec)) {
    NORITE_TRY_ASSIGN(Buffer buffer, device.empty(zeros->dtype, zeros->shape));
    return ArgumentBuffer{std::move(buffer), {}};
  }
  if (const auto* random = std::get_if<RandomArgument>(&spec)) {
    return make_random(device, *random, index);
  }
  if (const auto* constants = std::get_if<BytesArgument>(&spec)) {
    const Shape shape = {static_cast<int64_t>(constants->bytes.size())};
    return make_filled(device, {DType::u8, shape, constants->bytes});
  }
  NORITE_TRY_ASSIGN(NpyArray array, load(std::get<FileArgument>(spec)));
  return make_filled(device, std::move(array));
}

Result<void> ArgumentBuffer::reset() {
  if (!initial.empty()) return buffer.write(initial);
  // In pieces: a second copy of everything would only be zeros.
  static const std::vector<std::byte> zeros(size_t{1} << 20);
  const int64_t size = buffer.size_bytes();
  for (int64_t done = 0; done < size;) {
    const auto piece = std::min<int64_t>(size - done, static_cast<int64_t>(zeros.size()));
    NORITE_TRY(buffer.write(std::span(zeros).first(static_cast<size_t>(piece)), done));
    done += piece;
  }
  return {};
}

}  // namespace norite::cli
