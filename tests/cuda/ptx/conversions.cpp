// SPDX-License-Identifier: MIT
// cvt: between integers, floats and 16-bit floats.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

#include "cuda/ptx/operations.hpp"
#include "norite/float16.hpp"

namespace norite::ptx {

namespace {

constexpr uint16_t kNan = 0x7fff;

uint16_t to_f16(float x) { return x != x ? kNan : to_float16(x).bits; }
float from_f16(uint16_t x) { return to_float(Float16{x}); }
uint16_t to_bf16(float x) { return x != x ? kNan : to_bfloat16(x).bits; }

/// Saturates; no number becomes 0, or the least one of 64 bits.
template <class T>
T to_integer(float x) {
  using Limits = std::numeric_limits<T>;
  if (x != x) return sizeof(T) == 8 ? T(uint64_t{1} << 63) : T(0);
  if (x < static_cast<float>(Limits::min())) return Limits::min();
  if (x >= std::ldexp(1.0F, Limits::digits)) return Limits::max();
  return static_cast<T>(x);
}

template <class T>
Operation of_float(const Statement& one) {
  if (one.has("rzi")) return each<T, float>([](float x) { return to_integer<T>(std::trunc(x)); });
  if (one.has("rni")) {
    return each<T, float>([](float x) { return to_integer<T>(std::nearbyint(x)); });
  }
  if (one.has("rmi")) return each<T, float>([](float x) { return to_integer<T>(std::floor(x)); });
  if (one.has("rpi")) return each<T, float>([](float x) { return to_integer<T>(std::ceil(x)); });
  return {};
}

Operation between_floats(const Statement& one) {
  if (one.has("sat"))
    return each<float, float>([](float x) { return x > 0 ? std::fmin(x, 1.0F) : 0; });
  if (one.has("rni")) return each<float, float>([](float x) { return std::nearbyint(x); });
  if (one.has("rzi")) return each<float, float>([](float x) { return std::trunc(x); });
  if (one.has("rmi")) return each<float, float>([](float x) { return std::floor(x); });
  if (one.has("rpi")) return each<float, float>([](float x) { return std::ceil(x); });
  return {};
}

}  // namespace

Operation conversion(const Statement& one) {
  if (one.opcode[0] != "cvt" || one.opcode.size() < 3 || one.has("ftz")) return {};
  const std::string &to = one.opcode[one.opcode.size() - 2], &from = one.opcode.back();
  if (to == "f32" && from == "f32") return between_floats(one);
  if (one.has("sat")) return {};
  if (to == "f32" && from == "f16")
    return each<float, uint16_t>([](uint16_t x) { return from_f16(x); });
  if (to == "f16" && from == "f32" && one.has("rn")) {
    return each<uint16_t, float>([](float x) { return to_f16(x); });
  }
  if (to == "bf16" && from == "f32" && one.has("rn")) {
    return each<uint16_t, float>([](float x) { return to_bf16(x); });
  }
  if (from == "f32") return of_integer(to, [&]<class T>(T) { return of_float<T>(one); });
  if (to == "f32") {
    if (!one.has("rn")) return {};
    return of_integer(from, []<class T>(T) { return each<float, T>([](T x) { return x; }); });
  }
  return of_integer(to, [&]<class D>(D) {
    return of_integer(from, []<class S>(S) { return each<D, S>([](S x) { return x; }); });
  });
}

}  // namespace norite::ptx
