// SPDX-License-Identifier: MIT
#pragma once

#include "cases/case.hpp"
#include "cases/roof_text.hpp"

#include <norite/device.hpp>

namespace norite::cases {

/// The memory bandwidth that a device reaches when it does nothing but copy, or nothing but read:
/// what memory-bound operations are measured against. It runs on the device itself.
class RoofProbe {
 public:
  /// Registers the probe's kernels with the device, makes its buffers and finds out which way of
  /// copying and of reading is the faster.
  static Result<RoofProbe> make(const Device& device);

  /// One measurement, in GB/s: a copy counts what it reads and what it writes.
  [[nodiscard]] Result<double> sample(Roof roof) const;
  /// Records one copy or reading: after it, no cache holds anything of before.
  [[nodiscard]] Result<void> encode(Roof roof, Encoder& encoder) const;
  /// "streaming" or "plain": the stores that copied faster.
  [[nodiscard]] std::string_view store_kind() const;

 private:
  explicit RoofProbe(const Device& device);
  [[nodiscard]] Result<void> make_buffers();
  [[nodiscard]] Result<void> choose_host_kernels();
  [[nodiscard]] Result<void> choose_text_kernels();
  [[nodiscard]] Result<RoofKernel> faster(const RoofKernel& a, const RoofKernel& b,
                                          const Buffer& target) const;
  [[nodiscard]] Result<void> encode(const RoofKernel& kernel, const Buffer& target,
                                    Encoder& encoder) const;
  Result<double> time(const RoofKernel& kernel, const Buffer& target, int64_t bytes) const;

  Device device_;
  int64_t bytes_;
  Buffer source_, target_, sums_;
  RoofKernel copy_, read_;
};

}  // namespace norite::cases
