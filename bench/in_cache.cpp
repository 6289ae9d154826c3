// SPDX-License-Identifier: MIT
// Data that stays in the caches, 64 rows of 4096: rms_norm by a plain scalar loop, by Norite on one
// thread and on two. Beyond the caches, `norite bench` measures against the copy bandwidth.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <vector>

#include <norite/norite.hpp>

namespace {

using norite::DType;
using Clock = std::chrono::steady_clock;

constexpr int64_t kRows = 64;
constexpr int64_t kDim = 4096;
constexpr float kEps = 1e-6f;

double median_us(const std::function<void()>& run) {
  std::vector<double> times;
  for (int i = 0; i < 2000; ++i) {
    const auto start = Clock::now();
    run();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + 1000, times.end());
  return times[1000];
}

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
double scalar_us() {
  std::vector<T> x(kRows * kDim), w(kDim), y(kRows * kDim);
  for (T& value : x) narrow(0.5f, value);
  for (T& value : w) narrow(1.5f, value);
  return median_us([&] { scalar_rms_norm(x.data(), w.data(), y.data()); });
}

norite::Result<double> norite_us(DType dtype, int threads) {
  NORITE_TRY_ASSIGN(const auto device, norite::Device::open("cpu", {.threads = threads}));
  NORITE_TRY_ASSIGN(const auto x, device.empty(dtype, {kRows, kDim}));
  NORITE_TRY_ASSIGN(const auto w, device.empty(dtype, {kDim}));
  NORITE_TRY_ASSIGN(const auto y, device.empty(dtype, {kRows, kDim}));
  norite::Result<void> result;
  const double us = median_us([&] {
    norite::Encoder encoder = device.encoder();
    result = norite::ops::rms_norm(encoder, {.x = x, .weight = w, .y = y, .eps = kEps});
    if (result) result = encoder.submit_and_wait();
  });
  return result.map([&] { return us; });
}

template <class T>
norite::Result<void> compare(DType dtype) {
  const double scalar = scalar_us<T>();
  NORITE_TRY_ASSIGN(const double one, norite_us(dtype, 1));
  NORITE_TRY_ASSIGN(const double two, norite_us(dtype, 2));
  fmt::print("{:<6}{:>10.1f} µs{:>10.1f} µs{:>10.1f} µs{:>12.1f}{:>14.2f}\n", norite::name(dtype),
             scalar, one, two, scalar / one, one / two);
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
