// SPDX-License-Identifier: MIT
#include "backends/metal/function_constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "backends/metal/messages.hpp"
#include "core/parse_real.hpp"
#include "norite/float16.hpp"

namespace norite::metal {

namespace {

/// A value as Metal takes it: its bytes.
using Bytes = std::array<std::byte, 8>;

template <class T>
Bytes bytes_of(T value) {
  Bytes bytes = {};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

/// Metal's truth values are numbers too.
std::string_view as_number(std::string_view text) {
  return text == "true" ? "1" : text == "false" ? "0" : text;
}

template <class T>
std::optional<Bytes> integer(std::string_view given) {
  const std::string_view text = as_number(given);
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return bytes_of(value);
}

template <auto kConvert>
std::optional<Bytes> real(std::string_view text) {
  const auto value = core::parse_real(as_number(text));
  if (!value) return std::nullopt;
  return bytes_of(kConvert(*value));
}

constexpr auto kTruth = [](double value) { return value != 0; };
constexpr auto kFloat = [](double value) { return static_cast<float>(value); };
constexpr auto kHalf = [](double value) { return to_float16(static_cast<float>(value)); };

struct TypeRow {
  std::string_view name;
  MTLDataType type;
  std::optional<Bytes> (*read)(std::string_view);
};

constexpr std::array kTypes = {
    TypeRow{"bool", MTLDataTypeBool, real<kTruth>},
    TypeRow{"float", MTLDataTypeFloat, real<kFloat>},
    TypeRow{"half", MTLDataTypeHalf, real<kHalf>},
    TypeRow{"int", MTLDataTypeInt, integer<int32_t>},
    TypeRow{"int32_t", MTLDataTypeInt, integer<int32_t>},
    TypeRow{"uint", MTLDataTypeUInt, integer<uint32_t>},
    TypeRow{"unsigned", MTLDataTypeUInt, integer<uint32_t>},
    TypeRow{"unsigned int", MTLDataTypeUInt, integer<uint32_t>},
    TypeRow{"uint32_t", MTLDataTypeUInt, integer<uint32_t>},
    TypeRow{"short", MTLDataTypeShort, integer<int16_t>},
    TypeRow{"int16_t", MTLDataTypeShort, integer<int16_t>},
    TypeRow{"ushort", MTLDataTypeUShort, integer<uint16_t>},
    TypeRow{"uint16_t", MTLDataTypeUShort, integer<uint16_t>},
    TypeRow{"char", MTLDataTypeChar, integer<int8_t>},
    TypeRow{"int8_t", MTLDataTypeChar, integer<int8_t>},
    TypeRow{"uchar", MTLDataTypeUChar, integer<uint8_t>},
    TypeRow{"uint8_t", MTLDataTypeUChar, integer<uint8_t>},
    TypeRow{"long", MTLDataTypeLong, integer<int64_t>},
    TypeRow{"int64_t", MTLDataTypeLong, integer<int64_t>},
    TypeRow{"ulong", MTLDataTypeULong, integer<uint64_t>},
    TypeRow{"uint64_t", MTLDataTypeULong, integer<uint64_t>},
};

}  // namespace

Result<Object> function_constants(const msl::Module& module, const msl::ConstantValues& values) {
  Object set = make("MTLFunctionConstantValues");
  for (const msl::FunctionConstant& constant : module.constants) {
    const auto given = values.find(constant.name);
    if (given == values.end()) continue;
    const auto* const row = std::ranges::find(kTypes, constant.type, &TypeRow::name);
    if (row == kTypes.end()) {
      return fail(Code::unsupported, fmt::format("function constant \"{}\": its type {} is none "
                                                 "that a value can be given to on metal",
                                                 constant.name, constant.type));
    }
    const auto bytes = row->read(given->second);
    if (!bytes) {
      return fail(Code::invalid_argument,
                  fmt::format("function constant \"{}\" is \"{}\", expected a value of type {}",
                              constant.name, given->second, constant.type));
    }
    msg::set_constant(set, bytes->data(), row->type, constant.index);
  }
  return set;
}

}  // namespace norite::metal
