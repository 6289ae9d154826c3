// SPDX-License-Identifier: MIT
// Floats, rounded as the instruction says; approximations are exact here, and no NaN has a payload.
// What flushes subnormals (.ftz) is known for approximations alone: nothing else asks for it.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>

#include "cuda/ptx/operations.hpp"

namespace norite::ptx {

namespace {

float canonical(float x) { return x != x ? std::bit_cast<float>(0x7fffffffU) : x; }

float flushed(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0F, x) : x;
}

/// The float below, or towards zero, of a * b + c: its exact value is that of `sum` and the little
/// that `sum`, a double, has lost.
enum class Towards { minus_infinity, zero };
template <Towards kTowards>
float directed_multiply_add(float a, float b, float c) {
  const double product = double(a) * b;  // exact
  const double sum = product + c;
  if (!std::isfinite(sum)) return canonical(static_cast<float>(sum));
  if (sum == 0) {  // exactly: of opposite signs, unless both are zeros of one
    const bool negative = std::signbit(product) == std::signbit(c)
                              ? std::signbit(c)
                              : kTowards == Towards::minus_infinity;
    return negative ? -0.0F : 0.0F;
  }
  const double c_part = sum - product;
  const double lost = (product - (sum - c_part)) + (c - c_part);
  const auto nearest = static_cast<float>(sum);
  const bool down = kTowards == Towards::minus_infinity || sum > 0;
  const double beyond = double(nearest) - sum;
  const bool is_above = beyond > 0 || (beyond == 0 && lost < 0);
  const bool is_below = beyond < 0 || (beyond == 0 && lost > 0);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (down) return is_above ? std::nextafter(nearest, -kInfinity) : nearest;
  return is_below ? std::nextafter(nearest, kInfinity) : nearest;
}

/// The lesser one, where -0 is less than 0 and a NaN is no number.
float lesser(float a, float b) {
  if (a != a) return canonical(b);
  if (a == b) return std::signbit(a) ? a : b;
  return b < a ? b : a;
}

/// As div.approx does it: divisors beyond 2^126 give 0.
float divided(float a, float b) {
  const bool beyond = std::fabs(b) > 0x1p126F && std::isfinite(b);
  if (!beyond) return canonical(a / b);
  const float zero = std::copysign(0.0F, b);
  return std::isfinite(a) ? (std::signbit(a) ? -zero : zero) : canonical(a * zero);
}

template <class Op>
Operation approximation(bool flush, Op) {
  if (!flush) return each<float, float>([](float a) { return canonical(Op{}(a)); });
  return each<float, float>([](float a) { return flushed(canonical(Op{}(flushed(a)))); });
}

Operation directed(const Statement& one) {
  const std::string& name = one.opcode[0];
  if (name == "add" && one.has("rz")) {
    return each<float, float, float>(
        [](float a, float b) { return directed_multiply_add<Towards::zero>(a, 1, b); });
  }
  if (name == "mul" && one.has("rz")) {
    return each<float, float, float>(
        [](float a, float b) { return directed_multiply_add<Towards::zero>(a, b, -0.0F); });
  }
  if (name == "fma" && one.has("rm")) {
    return each<float, float, float, float>([](float a, float b, float c) {
      return directed_multiply_add<Towards::minus_infinity>(a, b, c);
    });
  }
  return {};
}

Operation approximated(const Statement& one) {
  const std::string& name = one.opcode[0];
  const bool flush = one.has("ftz");
  if (name == "ex2") return approximation(flush, [](float a) { return std::exp2(a); });
  if (name == "lg2") return approximation(flush, [](float a) { return std::log2(a); });
  if (name == "rcp") return approximation(flush, [](float a) { return 1 / a; });
  if (name == "sqrt") return approximation(flush, [](float a) { return std::sqrt(a); });
  if (name == "rsqrt") return approximation(flush, [](float a) { return 1 / std::sqrt(a); });
  if (name == "sin") return approximation(flush, [](float a) { return std::sin(a); });
  if (name == "cos") return approximation(flush, [](float a) { return std::cos(a); });
  if (name == "tanh") return approximation(flush, [](float a) { return std::tanh(a); });
  if (name != "div") return {};
  if (!flush) return each<float, float, float>([](float a, float b) { return divided(a, b); });
  return each<float, float, float>(
      [](float a, float b) { return flushed(divided(flushed(a), flushed(b))); });
}

}  // namespace

Operation float_arithmetic(const Statement& one) {
  const std::string& name = one.opcode[0];
  if (one.opcode.back() != "f32") return {};
  if (one.has("approx")) return approximated(one);
  if (one.has("ftz")) return {};
  if (one.has("rz") || one.has("rm") || one.has("rp")) return directed(one);
  using Float = float;
  if (name == "add")
    return each<Float, Float, Float>([](Float a, Float b) { return canonical(a + b); });
  if (name == "sub")
    return each<Float, Float, Float>([](Float a, Float b) { return canonical(a - b); });
  if (name == "mul")
    return each<Float, Float, Float>([](Float a, Float b) { return canonical(a * b); });
  if (name == "div")
    return each<Float, Float, Float>([](Float a, Float b) { return canonical(a / b); });
  if (name == "fma") {
    return each<Float, Float, Float, Float>(
        [](Float a, Float b, Float c) { return canonical(std::fma(a, b, c)); });
  }
  if (name == "rcp") return each<Float, Float>([](Float a) { return canonical(1 / a); });
  if (name == "sqrt") return each<Float, Float>([](Float a) { return canonical(std::sqrt(a)); });
  if (name == "neg") return each<Float, Float>([](Float a) { return -a; });
  if (name == "abs") return each<Float, Float>([](Float a) { return std::fabs(a); });
  if (name == "min")
    return each<Float, Float, Float>([](Float a, Float b) { return lesser(a, b); });
  if (name == "max") {
    return each<Float, Float, Float>([](Float a, Float b) {
      if (a != a || b != b) return lesser(a, b);
      return -lesser(-a, -b);
    });
  }
  if (name == "copysign") {
    return each<Float, Float, Float>([](Float sign, Float a) { return std::copysign(a, sign); });
  }
  return {};
}

}  // namespace norite::ptx
