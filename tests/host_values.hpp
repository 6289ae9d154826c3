// SPDX-License-Identifier: MIT
// Moving values between tests and devices.
#pragma once

#include <norite/norite.hpp>

#include <cstddef>
#include <vector>

#include "support.hpp"

namespace norite::test {

Buffer upload(const Device& device, DType dtype, const Shape& shape,
              const std::vector<float>& values);
/// Rows [rows, dim], the first few of which are these values, and so on again and again.
Buffer upload_repeated(const Device& device, DType dtype, const Shape& shape,
                       const std::vector<float>& values);

/// The bytes of a contiguous view.
std::vector<std::byte> download_bytes(const View& view);
std::vector<float> download(const View& view);
/// Of two views of one shape, whose rows are contiguous.
bool same_bytes(const View& a, const View& b);

/// Values in [-1, 1) that depend on nothing but the seed.
std::vector<float> pattern(int64_t count, uint32_t seed);

/// Records with `encode`, runs, and fails the test on an error.
template <class Encode>
void run(const Device& device, Encode encode) {
  Encoder encoder = device.encoder();
  must(encode(encoder));
  must(encoder.submit_and_wait());
}

}  // namespace norite::test
