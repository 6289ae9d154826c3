// SPDX-License-Identifier: MIT
// Constants of the RMS-norm kernels, read by the host and by every backend's kernels.
#pragma once

#include "common/rows.h"

enum NormWeightMode { kWeightNone = 0, kWeightPlain = 1, kWeightOnePlus = 2 };
enum NormRounding { kRoundOnce = 0, kRoundBeforeWeight = 1 };

/// rms_norm, rms_norm_mul and residual_rms_norm: one kernel, optional operands.
///   s = x + residual (rounded to the dtype of x), or x
///   y = s * rms_inv(s) * weight [* scale]
enum RmsNormArgument {
  kRmsNormX,
  kRmsNormWeight,    // optional
  kRmsNormResidual,  // optional, with sum
  kRmsNormScale,     // optional
  kRmsNormSum,       // out, with residual
  kRmsNormY,         // out, optional
  kRmsNormRmsInv,    // out, optional, f32
  kRmsNormParams,
};

struct RmsNormParams {
  RowDims rows;
  int64_t dim;
  RowStrides x, residual, scale, sum, y, rms_inv;
  float eps;
  uint32_t weight_mode;  // NormWeightMode
  uint32_t rounding;     // NormRounding
  float inverse_dim;     // 1 / dim, rounded
};

/// dx = r * (dy * w - x * s * r^2 / dim) [+ dresidual], s = sum(dy * x * w)
/// dw_partial[p] = sum of dy * x * r over some of the rows, about rows_per_partial, in row order: a
/// run of them on the host, every so many from row p on in kernel text
enum RmsNormBackwardArgument {
  kRmsNormBackwardX,
  kRmsNormBackwardWeight,     // optional
  kRmsNormBackwardDy,
  kRmsNormBackwardRmsInv,     // optional, f32; recomputed when absent
  kRmsNormBackwardDresidual,  // optional
  kRmsNormBackwardDx,         // out, optional
  kRmsNormBackwardDwPartial,  // out, optional, f32 [partials, dim]
  kRmsNormBackwardParams,
};

struct RmsNormBackwardParams {
  RowDims rows;
  int64_t dim;
  int64_t rows_per_partial;
  RowStrides x, dy, rms_inv, dresidual, dx;
  float eps;
  uint32_t weight_mode;  // NormWeightMode
};

/// out[i] = sum over p of partial[p][i], in a fixed pairwise order; partial is f32 and contiguous.
enum SumPartialsArgument { kSumPartialsIn, kSumPartialsOut, kSumPartialsParams };

struct SumPartialsParams {
  int64_t partials;
  int64_t dim;
};
