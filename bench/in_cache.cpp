// SPDX-License-Identifier: MIT
// Data that stays in the caches, 64 rows of 4096: rms_norm by a plain scalar loop, by Norite on one
// thread and on two. Beyond the caches, `norite bench` measures against the copy bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include <norite/norite.hpp>

namespace {

using norite::DType;
using Clock = std::chrono::steady_clock;

constexpr int64_t kRows = 64;
constexpr int64_t kDim = 4096;
constexpr float kEps = 1e-6f;
/// They take turns: what else runs on a machine slows it down for seconds at a time.
constexpr int kRounds = 20, kRunsOfRound = 100;

/// One way of computing it, and the microseconds that each run took.
struct Contender {
  std::function<void()> run;
  std::vector<double> times = {};

  void run_some() {
    for (int i = 0; i < kRunsOfRound; ++i) {
      const auto start = Clock::now();
      run();
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    }
  }

  double median() {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
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
  for (int round = 0; round < kRounds; ++round) {
    for (Contender* contender : {&scalar, &one, &two}) contender->run_some();
  }
  if (!result) return result;
  const double one_us = one.median(), two_us = two.median();
  fmt::print("{:<6}{:>10.1f} µs{:>10.1f} µs{:>10.1f} µs{:>12.1f}{:>14.2f}\n", norite::name(dtype),
             scalar.median(), one_us, two_us, scalar.median() / one_us, one_us / two_us);
  return {};
}

}  // namespace

int main() {
  fmt::print("{:<6}{:>13}{:>13}{:>13}{:>12}{:>14}\n", "dtype", "scalar loop", "1 thread",
             "2 threads", "scalar / 1", "1 / 2 threads");
  for (const auto& result : {compare<float>(DType::f32), compare<norite::Float16>(DType::f16),
                             compare<norite::BFloat16>(DType::bf16)}) {
    if (!result) {
      fmt::print(stderr, "in_cache: {}\n", result.error().message);
      return 1;
    }
  }
}
