// SPDX-License-Identifier: MIT
#include "msl/scalar_size.hpp"

#include <array>

namespace norite::msl {

namespace {

struct Scalar {
  std::string_view name;
  uint32_t bytes;
};

constexpr std::array<Scalar, 23> kScalars = {
    {{"bool", 1},     {"char", 1},     {"uchar", 1},    {"short", 2},    {"ushort", 2},
     {"int", 4},      {"uint", 4},     {"unsigned", 4}, {"long", 8},     {"ulong", 8},
     {"half", 2},     {"bfloat", 2},   {"float", 4},    {"int8_t", 1},   {"uint8_t", 1},
     {"int16_t", 2},  {"uint16_t", 2}, {"int32_t", 4},  {"uint32_t", 4}, {"int64_t", 8},
     {"uint64_t", 8}, {"size_t", 8},   {"ptrdiff_t", 8}}};

uint32_t bytes_of_scalar(std::string_view name) noexcept {
  for (const Scalar& scalar : kScalars) {
    if (scalar.name == name) return scalar.bytes;
  }
  return 0;
}

}  // namespace

uint32_t bytes_of_type(std::string_view name) noexcept {
  if (const uint32_t bytes = bytes_of_scalar(name)) return bytes;
  constexpr std::string_view kPacked = "packed_";
  const bool packed = name.starts_with(kPacked);
  if (packed) name.remove_prefix(kPacked.size());
  if (name.empty() || name.back() < '2' || name.back() > '4') return 0;
  const char count = name.back();
  const uint32_t bytes = bytes_of_scalar(name.substr(0, name.size() - 1));
  const uint32_t components = count == '3' && !packed ? 4 : static_cast<uint32_t>(count - '0');
  return bytes * components;
}

}  // namespace norite::msl
