// SPDX-License-Identifier: MIT
// What a dispatch costs the host: recording it (checks, plan, registry, hazards) and handing it to
// the device, on rows so small that the device is not what is measured.
//
//   norite_host_cost [DEVICE]    null (the default), cpu, cuda; operations run from kernel text
#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include <norite/norite.hpp>

#include "timing.hpp"

namespace {

using norite::Device;
using norite::DType;
using norite::Encoder;
using norite::Result;
using norite::Shape;
using norite::bench::Clock;
using norite::bench::median;
using norite::bench::microseconds;

constexpr int kRounds = 101;
constexpr int kOperations = 200;  // of a round

struct Cost {
  double record_us = 0, submit_us = 0;  // of one dispatch
};

using Record = std::function<Result<void>(Encoder&)>;

Result<Cost> measure(const Device& device, const Record& record) {
  std::vector<double> recording, submitting;
  for (int round = 0; round < kRounds; ++round) {
    Encoder encoder = device.encoder();
    const auto start = Clock::now();
    for (int i = 0; i < kOperations; ++i) NORITE_TRY(record(encoder));
    const auto recorded = Clock::now();
    NORITE_TRY(encoder.submit());
    const auto submitted = Clock::now();
    NORITE_TRY(encoder.wait());
    const auto dispatches = static_cast<double>(encoder.counters().dispatches);
    recording.push_back(microseconds(recorded - start) / dispatches);
    submitting.push_back(microseconds(submitted - recorded) / dispatches);
  }
  return Cost{median(std::move(recording)), median(std::move(submitting))};
}

Result<void> report(const Device& device, const char* operation, const Record& record) {
  NORITE_TRY_ASSIGN(const Cost cost, measure(device, record));
  fmt::print("{:<34}{:>9.2f} µs{:>9.2f} µs{:>9.2f} µs\n", operation, cost.record_us, cost.submit_us,
             cost.record_us + cost.submit_us);
  return {};
}

Result<void> run(const std::string& id) {
  namespace ops = norite::ops;
  NORITE_TRY_ASSIGN(const Device device, Device::open(id, {.builtins = norite::BuiltinForm::text}));
  const auto bf16 = [&](const Shape& shape) { return device.empty(DType::bf16, shape); };
  constexpr int64_t kDim = 2048, kHeads = 16, kHeadDim = 128;
  NORITE_TRY_ASSIGN(const auto x, bf16({1, kDim}));
  NORITE_TRY_ASSIGN(const auto y, bf16({1, kDim}));
  NORITE_TRY_ASSIGN(const auto residual, bf16({1, kDim}));
  NORITE_TRY_ASSIGN(const auto weight, bf16({kDim}));
  NORITE_TRY_ASSIGN(const auto dw, bf16({kDim}));
  NORITE_TRY_ASSIGN(const auto heads, bf16({1, kHeads, kHeadDim}));
  NORITE_TRY_ASSIGN(const auto rotated, bf16({1, kHeads, kHeadDim}));
  NORITE_TRY_ASSIGN(const auto head_weight, bf16({kHeadDim}));

  fmt::print("{:<34}{:>12}{:>12}{:>12}\n", "a dispatch of", "record", "submit", "both");
  NORITE_TRY(report(device, "rms_norm", [&](Encoder& encoder) {
    return ops::rms_norm(encoder, {.x = x, .weight = weight, .y = y});
  }));
  NORITE_TRY(report(device, "residual_rms_norm", [&](Encoder& encoder) {
    return ops::residual_rms_norm(
        encoder, {.x = x, .residual = residual, .weight = weight, .sum = residual, .y = y});
  }));
  NORITE_TRY(report(device, "rms_norm_backward", [&](Encoder& encoder) {
    return ops::rms_norm_backward(encoder,
                                  {.x = x, .weight = weight, .dy = y, .dx = residual, .dw = dw});
  }));
  return report(device, "fused_head_norm_rope", [&](Encoder& encoder) {
    return ops::fused_head_norm_rope(encoder, {.x = heads, .weight = head_weight, .y = rotated});
  });
}

}  // namespace

int main(int count, char** arguments) {
  const auto done = run(count > 1 ? arguments[1] : "null");
  if (done) return 0;
  fmt::print(stderr, "host_cost: {}\n", done.error().message);
  return 1;
}
