// SPDX-License-Identifier: MIT
// libFuzzer target: whatever the bytes are, the reader refuses them or hands out tensors whose
// every byte can be read.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "norite/safetensors.hpp"

namespace {

void read_all(std::span<const std::byte> bytes) {
  const auto file = norite::SafetensorsFile::parse(bytes);
  if (!file) {
    if (file.error().code != norite::Code::bad_file || file.error().message.empty()) std::abort();
    return;
  }
  for (const auto& name : file->names()) {
    const auto tensor = file->find(name);
    if (!tensor || !tensor->shape.valid() || !tensor->shape.count()) std::abort();
    const std::vector<std::byte> copy(tensor->data.begin(), tensor->data.end());
  }
}

// The same bytes with a true length in front: up to the last brace is header, the rest is data.
// Mutations rarely keep the length right, and without it none would get past the first check.
std::vector<std::byte> framed(std::span<const std::byte> bytes) {
  uint64_t header = bytes.size();
  while (header > 0 && bytes[header - 1] != std::byte('}')) --header;
  std::vector<std::byte> file(sizeof header);
  std::memcpy(file.data(), &header, sizeof header);
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
