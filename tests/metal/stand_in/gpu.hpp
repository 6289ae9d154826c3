// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "metal/stand_in/foundation.hpp"
#include "norite/device.hpp"

namespace norite::stand_in {

/// The device: memory and kernels are those of the CPU device.
struct Gpu : Instance {
  Gpu();
  /// The device that does the work.
  [[nodiscard]] const Device& machine();
  void die() override { machine_.reset(); }

  int64_t allocated_bytes = 0;

 private:
  std::once_flag opened_;
  std::optional<Device> machine_;
};

struct Buffer : Instance {
  Buffer(Gpu* on, norite::Buffer bytes);
  [[nodiscard]] NSUInteger length() const { return static_cast<NSUInteger>(memory.size_bytes()); }
  void die() override;

  Hold<Gpu> gpu;
  norite::Buffer memory;
  int uses = 0;         // by command buffers that have not ended and do not hold it
  int memberships = 0;  // in residency sets, as committed or about to be
};

}  // namespace norite::stand_in
