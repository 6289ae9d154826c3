// SPDX-License-Identifier: MIT
#include "cases/timing.hpp"

#include <chrono>

namespace norite::cases {

Encoder timed_encoder(const Device& device) {
  return device.encoder({.timing = !runs_on_host(device)});
}

Result<double> timed_run(Encoder& encoder, size_t ahead) {
  const auto start = std::chrono::steady_clock::now();
  NORITE_TRY(encoder.submit_and_wait());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const auto timings = encoder.timings();
  if (timings.size() <= ahead) return elapsed.count();
  const auto end_us = [&](size_t i) { return timings[i].start_us + timings[i].duration_us; };
  const double start_us = ahead > 0 ? end_us(ahead - 1) : timings.front().start_us;
  return (end_us(timings.size() - 1) - start_us) / 1e6;
}

}  // namespace norite::cases
