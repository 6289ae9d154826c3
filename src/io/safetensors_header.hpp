// SPDX-License-Identifier: MIT
// The JSON header of a safetensors file: text in, checked table of tensors out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "norite/error.hpp"
#include "norite/shape.hpp"

namespace norite::io {

struct TensorEntry {
  std::string_view dtype;  // static text
  Shape shape;
  uint64_t begin = 0;  // bytes from the start of the data, which follows the header
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::map<std::string, TensorEntry, std::less<>> tensors;
};

/// Reads the header of a file with `data_bytes` of tensor data. Errors: bad_file.
Result<SafetensorsHeader> parse_safetensors_header(std::string_view text, uint64_t data_bytes);

/// The text in quotes, fit for a message: escapes and a cut, since a file may hold any name.
std::string escaped(std::string_view name);

}  // namespace norite::io
