// SPDX-License-Identifier: MIT
// The rows of one call of rms_norm_backward, and the sums of dw.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_RMS_NORM_BACKWARD_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_RMS_NORM_BACKWARD_ROWS_INL_H
#undef NORITE_CPU_RMS_NORM_BACKWARD_ROWS_INL_H
#else
#define NORITE_CPU_RMS_NORM_BACKWARD_ROWS_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "backends/cpu/rows.hpp"
#include "backends/cpu/simd/blocks-inl.h"
#include "backends/cpu/simd/sums-inl.h"
#include "backends/cpu/simd/weights-inl.h"
#include "backends/cpu/streaming.hpp"
#include "norite/native_kernel.hpp"
#include "norm/params.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Of the squares of x, unless rms_inv is given, and of dy * w * x.
struct NormBackwardSums {
  Block squares, dot;
};

/// The operands of one row; nullptr stands for one that is absent.
template <class Raw>
struct NormBackwardRow {
  const Raw *x, *dy, *dresidual;
  const Raw *later_x, *later_dy, *later_dresidual;  // of a row to come, fetched meanwhile
  Raw* dx;
  float rms_inv;
  float x_factor;  // -s * r^3 / dim
};

template <class E>
class RmsNormBackwardRows {
 public:
  using Raw = typename E::Raw;
  using Row = NormBackwardRow<Raw>;
  using Sums = NormBackwardSums;

  explicit RmsNormBackwardRows(const NativeCall& call)
      : params_(call.constants<RmsNormBackwardParams>(kRmsNormBackwardParams)),
        weights_(call, kRmsNormBackwardWeight, params_.weight_mode, params_.dim),
        x_(call.data<Raw>(kRmsNormBackwardX)),
        dy_(call.data<Raw>(kRmsNormBackwardDy)),
        dresidual_(call.data<Raw>(kRmsNormBackwardDresidual)),
        rms_inv_(call.data<float>(kRmsNormBackwardRmsInv)),
        dx_(call.data<Raw>(kRmsNormBackwardDx)),
        dw_(call.data<float>(kRmsNormBackwardDwPartial)),
        rows_(row_count(params_.rows)),
        row_bytes_(params_.dim * static_cast<int64_t>(sizeof(Raw))),
        streaming_(rows_ * row_bytes_ >= kStreamBytes && dx_ && dx_ != dy_ && dx_ != dresidual_),
        needs_sums_(dx_ || !rms_inv_) {}

 protected:
  /// Calls run_rows(begin, end, weight, dw) for all rows, from the device's threads; dw: where to
  /// add up what these rows give, in block order.
  template <class RunRows>
  void for_tasks(const NativeCall& call, RunRows run_rows) const {
    const int64_t grain = dw_ ? params_.rows_per_partial : rows_per_task(2 * row_bytes_);
    call.parallel_for(rows_, grain, [=, this](int64_t begin, int64_t end) {
      float* const dw = dw_ ? dw_ + begin / grain * params_.dim : nullptr;
      if (dw) std::fill_n(dw, params_.dim, 0.0f);
      run_rows(begin, end, weights_.here(), dw);
      if (dw) to_plain_order(dw);
      if (streaming_) hwy::FlushStream();
    });
  }

  /// With the row that is `ahead` of it.
  Row row_at(int64_t r, int64_t ahead) const {
    const auto at = [&](auto* first, const RowStrides& strides, int64_t row) {
      return first ? first + row_offset(params_.rows, strides, row) : nullptr;
    };
    const int64_t later = std::min(r + ahead, rows_ - 1);
    return {.x = at(x_, params_.x, r),
            .dy = at(dy_, params_.dy, r),
            .dresidual = at(dresidual_, params_.dresidual, r),
            .later_x = at(x_, params_.x, later),
            .later_dy = at(dy_, params_.dy, later),
            .later_dresidual = at(dresidual_, params_.dresidual, later),
            .dx = at(dx_, params_.dx, r),
            .rms_inv = rms_inv_ ? *at(rms_inv_, params_.rms_inv, r) : 0.0f,
            .x_factor = 0.0f};
  }

  bool is_streaming(const Row& row) const { return streaming_ && is_aligned(row.dx); }

  /// Adds what a block of a row gives to its sums; square: to those of the squares as well.
  static HWY_INLINE void add_terms(Sums& to, Block x, Block dy, Block w, bool square) {
    if (square) to.squares = mul_add(x, x, to.squares);
    to.dot = mul_add({hn::Mul(dy.a, w.a), hn::Mul(dy.b, w.b)}, x, to.dot);
  }

  /// Sets the factors of a row. Sums are in the order of the forward pass.
  void set_factors(Row& row, const Sums& even, const Sums& odd) const {
    const auto dim = static_cast<float>(params_.dim);
    if (!rms_inv_) {
      row.rms_inv = 1.0f / std::sqrt(sum_of(even.squares, odd.squares) / dim + params_.eps);
    }
    const float r = row.rms_inv;
    row.x_factor = -(sum_of(even.dot, odd.dot) * r * r / dim * r);
  }

  static HWY_INLINE Block scale_by(VF factor, Block v) {
    return {hn::Mul(v.a, factor), hn::Mul(v.b, factor)};
  }
  /// dx but for dy * rms_inv * w: x * x_factor [+ dresidual].
  static HWY_INLINE Block rest_of_dx(VF x_factor, Block x) { return scale_by(x_factor, x); }
  static HWY_INLINE Block rest_of_dx(VF x_factor, Block x, Block dresidual) {
    return mul_add(x, {x_factor, x_factor}, dresidual);
  }

  // Sums of dw stay in block order while rows are added, but for a last part, which has no room for
  // it.
  static HWY_INLINE Block load_sums(const float* dw, size_t count) {
    return count == block() ? F32::load(dw) : load_f32_part<E>(dw, count);
  }
  static HWY_INLINE void store_sums(Block sums, float* dw, size_t count) {
    count == block() ? F32::store_f32(sums, dw) : store_f32_part<E>(sums, dw, count);
  }

  const RmsNormBackwardParams params_;
  const Weights<E> weights_;
  const Raw *x_, *dy_, *dresidual_;
  const float* rms_inv_;
  Raw* dx_;
  float* dw_;
  const int64_t rows_, row_bytes_;
  const bool streaming_, needs_sums_;

 private:
  void to_plain_order(float* dw) const {
    for_blocks(params_.dim, [=](int64_t i, size_t count) HWY_ATTR {
      store_f32_part<E>(load_sums(dw + i, count), dw + i, count);
    });
  }
};

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
