// SPDX-License-Identifier: MIT
// Data that stays in the caches, 64 rows of 4096: rms_norm by a plain scalar loop, by Norite on one
// thread and on two. Beyond the caches, `norite bench` measures against the copy bandwidth.
//
// Two threads are no faster than one where a virtual machine's two cores are one physical core, or
// where others take a part of them, which changes within seconds. So what two cores are worth is
// measured as well, around every round: by threads that only multiply. The last column leaves out
// rounds in which those gain less than 1.9, and says how many are left.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include <norite/norite.hpp>

#include "timing.hpp"

namespace {

using norite::DType;
using norite::bench::Clock;
using norite::bench::median;
using norite::bench::microseconds;

constexpr int64_t kRows = 64;
constexpr int64_t kDim = 4096;
constexpr float kEps = 1e-6f;
/// They take turns: what else runs on a machine slows it down for seconds at a time. A core that
/// has had nothing to do takes up to five milliseconds to come to its full speed, and the second
/// one has nothing to do while one thread is timed. Rounds are so long that this is little of them.
constexpr int kRounds = 20, kScalarRuns = 30, kRuns = 2000;
constexpr double kTwoCores = 1.9;

template <class Function>
double time_of(const Function& function) {
  const auto start = Clock::now();
  function();
  return microseconds(Clock::now() - start);
}

/// As many independent products as keep a core's multipliers busy.
void multiply() {
  std::array<float, 48> values;
  values.fill(1.0f);
  for (int i = 0; i < 20000; ++i) {
    for (float& value : values) value *= 0.9999f;
  }
  volatile float result = std::accumulate(values.begin(), values.end(), 0.0f);
  (void)result;
}

/// What two threads that only multiply do in the time of one: 2 on two cores.
double gain_of_two_cores() {
  const double alone = time_of(multiply);
  std::atomic<bool> ready = false, go = false;
  double second = 0;
  std::thread other([&] {
    ready = true;
    while (!go) {
    }
    second = time_of(multiply);
  });
  while (!ready) {
  }
  go = true;
  const double first = time_of(multiply);
  other.join();
  return 2 * alone / std::max(first, second);
}

/// One way of computing it, and the microseconds that each run took.
struct Contender {
  std::function<void()> run;
  std::vector<double> times = {}, kept = {};

  std::vector<double> run_some(int count) {
    std::vector<double> latest;
    for (int i = 0; i < count; ++i) latest.push_back(time_of(run));
    times.insert(times.end(), latest.begin(), latest.end());
    return latest;
  }
  void keep(const std::vector<double>& some) { kept.insert(kept.end(), some.begin(), some.end()); }
};

float widen(float value) { return value; }
float widen(norite::Float16 value) { return norite::to_float(value); }
float widen(norite::BFloat16 value) { return norite::to_float(value); }
void narrow(float value, float& to) { to = value; }
void narrow(float value, norite::Float16& to) { to = norite::to_float16(value); }
void narrow(float value, norite::BFloat16& to) { to = norite::to_bfloat16(value); }

template <class T>
void scalar_rms_norm(const T* x, const T* w, T* y) {
  for (int64_t row = 0; row < kRows; ++row, x += kDim, y += kDim) {
    float sum = 0;
    for (int64_t i = 0; i < kDim; ++i) sum += widen(x[i]) * widen(x[i]);
    const float r = 1 / std::sqrt(sum / kDim + kEps);
    for (int64_t i = 0; i < kDim; ++i) narrow(widen(x[i]) * r * widen(w[i]), y[i]);
  }
}

template <class T>
Contender scalar_loop() {
  std::vector<T> x(kRows * kDim), w(kDim), y(kRows * kDim);
  for (T& value : x) narrow(0.5f, value);
  for (T& value : w) narrow(1.5f, value);
  return {[x, w, y]() mutable { scalar_rms_norm(x.data(), w.data(), y.data()); }};
}

norite::Result<Contender> on_threads(DType dtype, int threads, norite::Result<void>& result) {
  NORITE_TRY_ASSIGN(const auto device, norite::Device::open("cpu", {.threads = threads}));
  NORITE_TRY_ASSIGN(const auto x, device.empty(dtype, {kRows, kDim}));
  NORITE_TRY_ASSIGN(const auto w, device.empty(dtype, {kDim}));
  NORITE_TRY_ASSIGN(const auto y, device.empty(dtype, {kRows, kDim}));
  return Contender{[=, &result] {
    norite::Encoder encoder = device.encoder();
    auto done = norite::ops::rms_norm(encoder, {.x = x, .weight = w, .y = y, .eps = kEps});
    if (done) done = encoder.submit_and_wait();
    if (!done) result = done;
  }};
}

template <class T>
norite::Result<void> compare(DType dtype) {
  norite::Result<void> result;
  Contender scalar = scalar_loop<T>();
  NORITE_TRY_ASSIGN(Contender one, on_threads(dtype, 1, result));
  NORITE_TRY_ASSIGN(Contender two, on_threads(dtype, 2, result));
  int rounds_on_two_cores = 0;
  for (int round = 0; round < kRounds; ++round) {
    scalar.run_some(kScalarRuns);
    const double before = gain_of_two_cores();
    const std::vector<double> by_one = one.run_some(kRuns), by_two = two.run_some(kRuns);
    if (std::min(before, gain_of_two_cores()) < kTwoCores) continue;
    ++rounds_on_two_cores;
    one.keep(by_one);
    two.keep(by_two);
  }
  if (!result) return result;
  const double one_us = median(one.times), two_us = median(two.times);
  fmt::print("{:<6}{:>10.1f} µs{:>9.1f} µs{:>9.1f} µs{:>12.1f}{:>11.2f}", norite::name(dtype),
             median(scalar.times), one_us, two_us, median(scalar.times) / one_us, one_us / two_us);
  if (rounds_on_two_cores == 0) {
    fmt::print("{:>14} (0 of {})\n", "–", kRounds);
    return {};
  }
  fmt::print("{:>14.2f} ({} of {})\n", median(one.kept) / median(two.kept), rounds_on_two_cores,
             kRounds);
  return {};
}

}  // namespace

int main() {
  fmt::print("{:<6}{:>13}{:>12}{:>12}{:>12}{:>11}{:>14} (rounds)\n", "dtype", "scalar loop",
             "1 thread", "2 threads", "scalar / 1", "1 / 2", "on two cores");
  for (const auto& result : {compare<float>(DType::f32), compare<norite::Float16>(DType::f16),
                             compare<norite::BFloat16>(DType::bf16)}) {
    if (!result) {
      fmt::print(stderr, "in_cache: {}\n", result.error().message);
      return 1;
    }
  }
}
