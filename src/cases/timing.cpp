// SPDX-License-Identifier: MIT
#include "cases/timing.hpp"

#include <chrono>

namespace norite::cases {

Encoder timed_encoder(const Device& device) {
  return device.encoder({.timing = runs_on_host(device) ? Timing::none : Timing::whole});
}

Result<double> timed_run(Encoder& encoder) {
  const auto start = std::chrono::steady_clock::now();
  NORITE_TRY(encoder.submit_and_wait());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const auto timings = encoder.timings();
  return timings.empty() ? elapsed.count() : timings.front().duration_us / 1e6;
}

}  // namespace norite::cases
