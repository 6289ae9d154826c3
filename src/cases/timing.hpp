// SPDX-License-Identifier: MIT
#pragma once

#include <norite/device.hpp>

namespace norite::cases {

/// Whether kernels run on the host's own threads, or on a device with a clock of its own.
[[nodiscard]] inline bool runs_on_host(const Device& device) { return device.info().threads > 0; }

/// An encoder whose work timed_run() measures.
[[nodiscard]] Encoder timed_encoder(const Device& device);

/// Submits, waits, and gives the seconds from the first dispatch's start to the last one's end: by
/// the device's clock where it has one, so that launching and waiting do not count, else by the
/// host's.
[[nodiscard]] Result<double> timed_run(Encoder& encoder);

}  // namespace norite::cases
