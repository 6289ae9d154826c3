// SPDX-License-Identifier: MIT
// Metal through the bridge, without the backend.
#pragma once

#include "backends/metal/foundation.hpp"
#include "metal/metal_support.hpp"

namespace norite::test {

/// The objects that it takes to dispatch one kernel.
struct BareMetal {
  /// `text` has one kernel, `k`.
  explicit BareMetal(const std::string& text);

  [[nodiscard]] metal::Object buffer(unsigned long bytes) const;
  /// Autoreleased, as Metal has it.
  [[nodiscard]] metal::Id command_buffer() const;
  [[nodiscard]] static metal::Id encoder(metal::Id command_buffer);

  metal::Object devices, device, queue, descriptor, library, function, pipeline, reflection;
};

}  // namespace norite::test
