// SPDX-License-Identifier: MIT
#include "host_values.hpp"

#include <cstring>

namespace norite::test {

Buffer upload(const Device& device, DType dtype, const Shape& shape,
              const std::vector<float>& values) {
  Buffer buffer = must(device.empty(dtype, shape));
  if (dtype == DType::f32) {
    must(buffer.write(std::as_bytes(std::span(values))));
    return buffer;
  }
  std::vector<uint16_t> bits;
  bits.reserve(values.size());
  for (const float value : values) {
    bits.push_back(dtype == DType::f16 ? to_float16(value).bits : to_bfloat16(value).bits);
  }
  must(buffer.write(std::as_bytes(std::span(bits))));
  return buffer;
}

std::vector<std::byte> download_bytes(const View& view) {
  std::vector<std::byte> bytes(static_cast<size_t>(view.size_bytes()));
  must(view.read(bytes));
  return bytes;
}

std::vector<float> download(const View& view) {
  const std::vector<std::byte> bytes = download_bytes(view);
  std::vector<float> values(static_cast<size_t>(view.count()));
  if (view.dtype() == DType::f32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<uint16_t> bits(values.size());
  std::memcpy(bits.data(), bytes.data(), bytes.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    values[i] =
        view.dtype() == DType::f16 ? to_float(Float16{bits[i]}) : to_float(BFloat16{bits[i]});
  }
  return values;
}

bool same_bytes(const View& a, const View& b) { return download_bytes(a) == download_bytes(b); }

std::vector<float> pattern(int64_t count, uint32_t seed) {
  std::vector<float> values;
  values.reserve(static_cast<size_t>(count));
  uint32_t state = seed * 2654435761u + 12345u;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f);
  }
  return values;
}

}  // namespace norite::test
