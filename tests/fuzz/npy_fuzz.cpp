// SPDX-License-Identifier: MIT
// libFuzzer target: whatever the bytes are, the reader refuses them or hands out an array whose
// data is what its dtype and shape describe.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "norite/npy.hpp"

namespace {

void read_all(std::span<const std::byte> bytes) {
  const auto array = norite::parse_npy(bytes);
  if (!array) {
    if (array.error().code != norite::Code::bad_file || array.error().message.empty()) std::abort();
    return;
  }
  const auto count = array->shape.valid() ? array->shape.count() : std::nullopt;
  if (!count) std::abort();
  if (*count * size_of(array->dtype) != static_cast<int64_t>(array->data.size())) std::abort();
}

// The same bytes behind a true beginning: up to the last brace is header, the rest is data.
// Mutations rarely keep magic and length right, and without them none would get past the first
// check.
std::vector<std::byte> framed(std::span<const std::byte> bytes) {
  size_t header = bytes.size();
  while (header > 0 && bytes[header - 1] != std::byte('}')) --header;
  std::vector<std::byte> file;
  for (const char c : std::string_view("\x93NUMPY\x02\0", 8)) file.push_back(std::byte(c));
  for (size_t i = 0; i < 4; ++i) file.push_back(std::byte(header >> (8 * i)));
  file.insert(file.end(), bytes.begin(), bytes.end());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  read_all(bytes);
  read_all(framed(bytes));
  return 0;
}
