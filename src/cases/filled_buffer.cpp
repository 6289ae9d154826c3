// SPDX-License-Identifier: MIT
#include "cases/filled_buffer.hpp"

#include <vector>

namespace norite::cases {

Result<Buffer> filled(const Device& device, DType dtype, const Shape& shape) {
  NORITE_TRY_ASSIGN(Buffer buffer, device.empty(dtype, shape));
  std::vector<float> values(static_cast<size_t>(buffer.count()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = (static_cast<float>(i * 37 % 101) - 50.5f) / 50.5f;
  }
  if (dtype == DType::f32) {
    NORITE_TRY(buffer.write(std::as_bytes(std::span(values))));
    return buffer;
  }
  std::vector<uint16_t> bits;
  for (const float value : values) {
    bits.push_back(dtype == DType::f16 ? to_float16(value).bits : to_bfloat16(value).bits);
  }
  NORITE_TRY(buffer.write(std::as_bytes(std::span(bits))));
  return buffer;
}

}  // namespace norite::cases
