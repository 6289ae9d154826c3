// SPDX-License-Identifier: MIT
#include "host_values.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

namespace norite::test {

namespace {

std::vector<std::byte> encoded(DType dtype, const std::vector<float>& values) {
  const auto size = static_cast<size_t>(size_of(dtype));
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = dtype == DType::f32   ? std::bit_cast<uint32_t>(values[i])
                          : dtype == DType::f16 ? to_float16(values[i]).bits
                                                : to_bfloat16(values[i]).bits;
    std::memcpy(&bytes[i * size], &bits, size);  // the lowest bytes come first
  }
  return bytes;
}

}  // namespace

Buffer upload(const Device& device, DType dtype, const Shape& shape,
              const std::vector<float>& values) {
  Buffer buffer = must(device.empty(dtype, shape));
  must(buffer.write(encoded(dtype, values)));
  return buffer;
}

Buffer upload_repeated(const Device& device, DType dtype, const Shape& shape,
                       const std::vector<float>& values) {
  const Buffer buffer = must(device.empty(dtype, shape));
  const std::vector<std::byte> bytes = encoded(dtype, values);
  const int64_t few = static_cast<int64_t>(values.size()) / shape[1];
  for (int64_t row = 0; row < shape[0]; row += few) {
    const int64_t end = std::min(row + few, shape[0]);
    const auto part =
        std::span(bytes).first(static_cast<size_t>((end - row) * shape[1] * size_of(dtype)));
    must(must(View(buffer).slice(0, row, end)).write(part));
  }
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

bool same_bytes(const View& a, const View& b) {
  constexpr int64_t kBytesAtOnce = int64_t{1} << 20;
  const int64_t rows = a.shape()[0],
                step = std::max<int64_t>(1, kBytesAtOnce * rows / a.size_bytes());
  for (int64_t row = 0; row < rows; row += step) {
    const auto part = [&](const View& view) {
      return download_bytes(must(view.slice(0, row, std::min(row + step, rows))));
    };
    const auto bytes = part(a), others = part(b);
    if (bytes.size() != others.size()) return false;
    if (std::memcmp(bytes.data(), others.data(), bytes.size()) != 0) return false;
  }
  return true;
}

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
