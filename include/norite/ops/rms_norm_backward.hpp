// SPDX-License-Identifier: MIT
#pragma once

#include <norite/encoder.hpp>
#include <norite/ops/norm_options.hpp>

namespace norite::ops {

/// Gradients of rms_norm:
///   dx = r · (dy·w − x · s·r² / dim) [+ dresidual],  s = Σ dy·x·w over the row
///   dw = Σ dy·x·r over the rows, in an order that depends on their number and the device alone
/// Without dx or without dw that half is not computed.
struct RmsNormBackward {
  View x;
  View weight = {};     ///< [dim], the dtype of x or f32; absent: none (then there is no dw)
  View dy;              ///< like x
  View rms_inv = {};    ///< r as rms_norm wrote it, f32; absent: recomputed from x and eps
  View dresidual = {};  ///< optional, like x: gradient that bypasses the norm, added into dx
  View dx = {};         ///< output like x; may be dy or dresidual itself
  View dw = {};         ///< output [dim], f32 or the weight's dtype
  float eps = 1e-6f;    ///< of the forward pass; unused when rms_inv is given
  WeightMode weight_mode = WeightMode::plain;
};

[[nodiscard]] NORITE_API Result<void> rms_norm_backward(Encoder& encoder,
                                                        const RmsNormBackward& op);

/// r of each row alone: the first of the three parts that rms_norm_backward joins.
struct ComputeRmsInv {
  View x;
  View rms_inv;  ///< output, f32, shape of x without the last axis
  float eps = 1e-6f;
};

[[nodiscard]] NORITE_API Result<void> rms_norm_compute_rms_inv(Encoder& encoder,
                                                               const ComputeRmsInv& op);

/// dx alone, from r.
struct RmsNormBackwardDx {
  View x;
  View weight = {};
  View dy;
  View rms_inv;
  View dx;
  WeightMode weight_mode = WeightMode::plain;
};

[[nodiscard]] NORITE_API Result<void> rms_norm_backward_dx(Encoder& encoder,
                                                           const RmsNormBackwardDx& op);

/// dw alone, from r.
struct RmsNormBackwardDw {
  View x;
  View dy;
  View rms_inv;
  View dw;  ///< output [dim], f32 or the dtype of x
};

[[nodiscard]] NORITE_API Result<void> rms_norm_backward_dw(Encoder& encoder,
                                                           const RmsNormBackwardDw& op);

}  // namespace norite::ops
