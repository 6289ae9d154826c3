// SPDX-License-Identifier: MIT
// The rows of one call of rms_norm, rms_norm_mul or residual_rms_norm, and what is computed of one.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_RMS_NORM_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_RMS_NORM_ROWS_INL_H
#undef NORITE_CPU_RMS_NORM_ROWS_INL_H
#else
#define NORITE_CPU_RMS_NORM_ROWS_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

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

/// The operands of one row, or of the first; nullptr stands for one that is absent.
template <class Raw>
struct NormRow {
  const Raw *x, *residual, *scale;
  Raw *sum, *y;
  float* rms_inv;
};

template <class E>
class RmsNormRows {
 public:
  using Raw = typename E::Raw;
  using Row = NormRow<Raw>;

  explicit RmsNormRows(const NativeCall& call)
      : params_(call.constants<RmsNormParams>(kRmsNormParams)),
        weights_(call, kRmsNormWeight, params_.weight_mode, params_.dim),
        first_{.x = call.data<Raw>(kRmsNormX),
               .residual = call.data<Raw>(kRmsNormResidual),
               .scale = call.data<Raw>(kRmsNormScale),
               .sum = call.data<Raw>(kRmsNormSum),
               .y = call.data<Raw>(kRmsNormY),
               .rms_inv = call.data<float>(kRmsNormRmsInv)},
        rows_(row_count(params_.rows)),
        row_bytes_(params_.dim * static_cast<int64_t>(sizeof(Raw))),
        streaming_(rows_ * row_bytes_ >= kStreamBytes && first_.y && first_.y != first_.x) {}

 protected:
  /// Calls run_rows(begin, end) for all rows, from the device's threads.
  template <class RunRows>
  void for_tasks(const NativeCall& call, RunRows run_rows) const {
    call.parallel_for(rows_, rows_per_task(row_bytes_), [=, this](int64_t begin, int64_t end) {
      run_rows(begin, end);
      if (streaming_) hwy::FlushStream();
    });
  }

  Row row_at(int64_t r) const {
    const auto at = [&](auto* first, const RowStrides& strides) {
      return first ? first + row_offset(params_.rows, strides, r) : nullptr;
    };
    return {.x = at(first_.x, params_.x),
            .residual = at(first_.residual, params_.residual),
            .scale = at(first_.scale, params_.scale),
            .sum = at(first_.sum, params_.sum),
            .y = at(first_.y, params_.y),
            .rms_inv = at(first_.rms_inv, params_.rms_inv)};
  }

  bool is_streaming(const Row& row) const {
    return streaming_ && is_aligned(row.y) && is_aligned(row.sum);
  }

  /// Calls fetch(i) for every block, before its loads.
  template <class Fetch>
  float sum_squares(const Raw* row, Fetch fetch) const {
    return sum_blocks(params_.dim, [=](Block acc, int64_t i, size_t count) HWY_ATTR {
      fetch(i);
      const Block x = load_part<E>(row + i, count);
      return mul_add(x, x, acc);
    });
  }

  /// Writes x + residual, rounded, to `sum`, and returns its sum of squares as rounded: the norm of
  /// the sum has the same bits as if it had been computed on its own. Where `sum` is not the output
  /// (a copy for the second pass, or nullptr), the output is streamed from here, so that both
  /// passes write. Calls fetch(i) for every block, before its loads.
  template <class Fetch>
  float add_residual(Row row, Raw* sum, Fetch fetch) const {
    Raw* const streamed = sum == row.sum ? nullptr : row.sum;
    return sum_blocks(params_.dim, [=](Block acc, int64_t i, size_t count) HWY_ATTR {
      fetch(i);
      const auto packed = sum_block(row, i, count);
      if (sum) write_part<E>(packed, sum + i, count);
      if (streamed) write_part<E, kStreaming>(packed, streamed + i, count);
      const Block s = E::unpack(packed);
      return mul_add(s, s, acc);
    });
  }

  /// x + residual as stored.
  static HWY_INLINE typename E::Packed sum_block(const Row& row, int64_t i, size_t count) {
    const Block x = load_part<E>(row.x + i, count);
    const Block residual = load_part<E>(row.residual + i, count);
    return E::pack({hn::Add(x.a, residual.a), hn::Add(x.b, residual.b)});
  }

  /// Gives rms_inv of a row, and writes it where it is an output.
  float finish_sum(const Row& row, float squares) const {
    const float mean = squares / static_cast<float>(params_.dim);
    const float rms_inv = 1.0f / std::sqrt(mean + params_.eps);
    if (row.rms_inv) *row.rms_inv = rms_inv;
    return rms_inv;
  }

  /// s * rms_inv * weight; round_first: rounded before_weight.
  static HWY_INLINE Block scale_block(Block s, VF rms_inv, bool round_first, const float* weight) {
    Block y = {hn::Mul(s.a, rms_inv), hn::Mul(s.b, rms_inv)};
    if (round_first) y = round_to<E>(y);
    return multiply(y, F32::load(weight));
  }
  static HWY_INLINE Block multiply(Block a, Block b) {
    return {hn::Mul(a.a, b.a), hn::Mul(a.b, b.b)};
  }

  const RmsNormParams params_;
  const Weights<E> weights_;
  const Row first_;
  const int64_t rows_, row_bytes_;
  const bool streaming_;
};

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
