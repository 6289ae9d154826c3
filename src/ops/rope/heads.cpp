// SPDX-License-Identifier: MIT
#include "ops/rope/heads.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ops/rope/head_norm_rope_plan.hpp"

namespace norite::ops {

namespace {

constexpr int64_t kMaxPosition = INT32_MAX;

Result<void> check_cached(const Check& check, const RopeAngles& angles, const HeadShape& shape) {
  if (angles.positions || angles.freq_factors) {
    return check.refuse(angles.positions ? "positions" : "freq_factors",
                        "is given together with cos and sin", "either it or those two");
  }
  for (const Named& table : {Named{"cos", angles.cos}, Named{"sin", angles.sin}}) {
    NORITE_TRY(check.given(table));
    NORITE_TRY(check.dtype(table, {DType::f32}));
    NORITE_TRY(check.shape(table, {shape.tokens, shape.half_rope_dim}, "[tokens, half_rope_dim]"));
    NORITE_TRY(check.contiguous(table));
  }
  return {};
}

// Also of those that are not used: a wrong one is a mistake wherever it is.
Result<void> check_numbers(const Check& check, const RopeAngles& angles, const HeadShape& shape) {
  if (!std::isfinite(angles.theta) || angles.theta <= 0.0f) {
    return check.refuse("theta", fmt::format("is {}", angles.theta), "a finite value > 0");
  }
  if (angles.frequency_dim < 0) {
    return check.refuse("frequency_dim", fmt::format("is {}", angles.frequency_dim),
                        "a value > 0, or 0 for head_dim");
  }
  if (angles.first_position < 0 || angles.first_position > kMaxPosition - (shape.tokens - 1)) {
    return check.refuse("first_position", fmt::format("is {}", angles.first_position),
                        fmt::format("0 to 2^31 - {}", shape.tokens));
  }
  return {};
}

Result<void> check_computed(const Check& check, const RopeAngles& angles, const HeadShape& shape) {
  if (angles.positions) {
    const Named positions{"positions", angles.positions};
    NORITE_TRY(check.dtype(positions, {DType::i32, DType::u32}));
    NORITE_TRY(check.shape(positions, {shape.tokens}, "[tokens]"));
  }
  if (angles.freq_factors) {
    const Named factors{"freq_factors", angles.freq_factors};
    NORITE_TRY(check.dtype(factors, {DType::f32}));
    NORITE_TRY(check.shape(factors, {shape.half_rope_dim}, "[half_rope_dim]"));
    NORITE_TRY(check.contiguous(factors));
  }
  return {};
}

}  // namespace

Result<HeadShape> check_heads(const Check& check, const Named& x, int64_t half_rope_dim) {
  NORITE_TRY(check.activation(x));
  const Shape& extents = x.view.shape();
  if (extents.rank() != 3) {
    return check.refuse(x.name, fmt::format("has shape {}", to_string(extents)),
                        "[tokens, heads, head_dim]");
  }
  HeadShape shape{extents[0], extents[1], extents[2], half_rope_dim};
  if (shape.head_dim % 2 != 0 || shape.head_dim > kMaxHeadDim) {
    return check.refuse(x.name, fmt::format("has head_dim {}", shape.head_dim),
                        fmt::format("an even one up to {}", int64_t{kMaxHeadDim}));
  }
  if (half_rope_dim == -1) shape.half_rope_dim = shape.head_dim / 2;
  if (shape.half_rope_dim < 0 || shape.half_rope_dim > shape.head_dim / 2) {
    return check.refuse("half_rope_dim", fmt::format("is {}", half_rope_dim),
                        fmt::format("0 to {} (head_dim / 2), or -1", shape.head_dim / 2));
  }
  return shape;
}

Result<RopeAngleParams> check_angles(const Check& check, const RopeAngles& angles,
                                     const HeadShape& shape) {
  NORITE_TRY(check_numbers(check, angles, shape));
  RopeAngleParams params = {};
  if (angles.cos || angles.sin) {
    NORITE_TRY(check_cached(check, angles, shape));
    params.source = kAnglesCached;
    params.cos_stride = angles.cos.strides()[0];
    params.sin_stride = angles.sin.strides()[0];
    return params;
  }
  NORITE_TRY(check_computed(check, angles, shape));
  params.theta = angles.theta;
  params.frequency_dim = angles.frequency_dim == 0 ? shape.head_dim : angles.frequency_dim;
  if (angles.positions) {
    params.source = kAnglesPositions;
    params.position_stride = angles.positions.strides()[0];
    params.signed_positions = angles.positions.dtype() == DType::i32 ? 1 : 0;
  } else {
    params.source = kAnglesSequential;
    params.first_position = angles.first_position;
  }
  set_frequency_powers(params);
  return params;
}

// The stride of a single token or head is never taken, and may be anything.
HeadStrides head_strides(const View& view) noexcept {
  if (!view) return {0, 0};
  const auto stride = [&](int axis) { return view.shape()[axis] > 1 ? view.strides()[axis] : 0; };
  return {stride(0), stride(1)};
}

Result<RopePairing> check_pairing(const Check& check, Pairing pairing) {
  switch (pairing) {
    case Pairing::half_dim:
      return kPairHalfDim;
    case Pairing::half_rope:
      return kPairHalfRope;
    case Pairing::interleaved:
      return kPairInterleaved;
  }
  return check.refuse("pairing", fmt::format("is {}", static_cast<int>(pairing)),
                      "half_dim (0), half_rope (1) or interleaved (2)");
}

}  // namespace norite::ops
