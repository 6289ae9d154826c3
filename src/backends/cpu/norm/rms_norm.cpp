// SPDX-License-Identifier: MIT
// rms_norm, rms_norm_mul and residual_rms_norm. Each row is read twice: once for its sum of squares
// and, by then in the cache, once more to be scaled and written. The second pass over a row is the
// first one over the next, and a row further on is prefetched, so that memory is read and written
// all the time.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/rms_norm.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cmath>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/rows.hpp"
#include "backends/cpu/simd/blocks-inl.h"
#include "backends/cpu/simd/dispatch.hpp"
#include "backends/cpu/simd/sums-inl.h"
#include "backends/cpu/simd/weights-inl.h"
#include "backends/cpu/streaming.hpp"
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

/// What a row has besides x.
enum class Operand { none, residual, scale };

template <class E>
class RmsNorm {
 public:
  explicit RmsNorm(const NativeCall& call)
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

  void run(const NativeCall& call) const {
    call.parallel_for(rows_, rows_per_task(row_bytes_),
                      [this](int64_t begin, int64_t end) { run_rows(begin, end); });
  }

 private:
  using Raw = typename E::Raw;
  using Row = NormRow<Raw>;

  void run_rows(int64_t begin, int64_t end) const {
    // A sum that is streamed out would have to come back from memory for the second pass, so that
    // reads it here.
    hwy::AlignedFreeUniquePtr<Raw[]> kept;
    if (streaming_ && first_.sum != first_.residual) {
      kept = hwy::AllocateAligned<Raw>(padded_to_blocks(params_.dim));
    }
    const float* const weight = weights_.here();
    float squares = first_.sum ? 0.0f : sum_of_squares(row_at(begin));
    for (int64_t r = begin; r < end; ++r) {
      const Row row = row_at(r);
      const int64_t summed = first_.sum ? r : r + 1;  // the row that comes from memory meanwhile
      const Row later = row_at(std::min(summed + rows_ahead(row_bytes_), rows_ - 1));
      const bool streaming = streaming_ && is_aligned(row.y) && is_aligned(row.sum);
      Raw* const sum = streaming && kept ? kept.get() : row.sum;
      if (sum) squares = add_residual(row, later, sum);
      const float mean = squares / static_cast<float>(params_.dim);
      const float rms_inv = 1.0f / std::sqrt(mean + params_.eps);
      if (row.rms_inv) *row.rms_inv = rms_inv;
      const Raw* const next_x = sum || r + 1 == end ? nullptr : row_at(r + 1).x;
      if (!row.y) {
        if (next_x) squares = sum_of_squares(row_at(r + 1));
      } else if (streaming) {
        squares = write<kStreaming>(sum ? sum : row.x, row, later, weight, rms_inv, next_x);
      } else {
        squares = write<Store::cached>(sum ? sum : row.x, row, later, weight, rms_inv, next_x);
      }
    }
    if (streaming_) hwy::FlushStream();
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

  static bool is_aligned(const Raw* row) {
    return reinterpret_cast<uintptr_t>(row) % (lanes() * sizeof(float)) == 0;
  }

  float sum_of_squares(Row row) const {
    return sum_blocks(params_.dim, [=](Block acc, int64_t i, size_t count) HWY_ATTR {
      prefetch_block(row.x + i);  // just before its load: the hardware then fetches further ahead
      const Block x = load_part<E>(row.x + i, count);
      return mul_add(x, x, acc);
    });
  }

  /// Writes x + residual, rounded, to `sum`, and returns its sum of squares as rounded: the norm of
  /// the sum has the same bits as if it had been computed on its own. Where `sum` is only kept for
  /// the second pass, the output is streamed from here, so that both passes write.
  float add_residual(Row row, Row later, Raw* sum) const {
    Raw* const streamed = sum == row.sum ? nullptr : row.sum;
    return sum_blocks(params_.dim, [=](Block acc, int64_t i, size_t count) HWY_ATTR {
      prefetch_block(later.x + i);
      prefetch_block(later.residual + i);
      const Block x = load_part<E>(row.x + i, count);
      const Block residual = load_part<E>(row.residual + i, count);
      const auto packed = E::pack({hn::Add(x.a, residual.a), hn::Add(x.b, residual.b)});
      write_part<E>(packed, sum + i, count);
      if (streamed) write_part<E, kStreaming>(packed, streamed + i, count);
      const Block s = E::unpack(packed);
      return mul_add(s, s, acc);
    });
  }

  /// y = s * rms_inv * weight [* scale]. Meanwhile it sums the squares of `next_x`, if there is
  /// one: memory is read and written all the time.
  template <Store kStore, Operand kOperand>
  float write_as(const Raw* s, Row row, Row later, const float* weight, float rms_inv,
                 const Raw* next_x) const {
    const VF r = hn::Set(DF(), rms_inv);
    const bool round_first = params_.rounding == kRoundBeforeWeight;
    const auto write_block = [=](int64_t i, size_t count) HWY_ATTR {
      prefetch_block_beside<kStore>(later.x + i);
      const Block v = load_part<E>(s + i, count);
      if constexpr (kOperand == Operand::residual) {
        prefetch_block_beside<kStore>(later.residual + i);
      }
      Block y = {hn::Mul(v.a, r), hn::Mul(v.b, r)};
      if (round_first) y = round_to<E>(y);
      const Block w = F32::load(weight + i);
      y = {hn::Mul(y.a, w.a), hn::Mul(y.b, w.b)};
      if constexpr (kOperand == Operand::scale) {
        prefetch_block_beside<kStore>(later.scale + i);
        const Block scale = load_part<E>(row.scale + i, count);
        y = {hn::Mul(y.a, scale.a), hn::Mul(y.b, scale.b)};
      }
      store_part<E, kStore>(y, row.y + i, count);
    };
    if (next_x == nullptr) {
      for_blocks(params_.dim, write_block);
      return 0.0f;
    }
    return sum_blocks(params_.dim, [=](Block acc, int64_t i, size_t count) HWY_ATTR {
      // Before the store, which it would wait for where both have the same place in a page.
      const Block x = load_part<E>(next_x + i, count);
      write_block(i, count);
      return mul_add(x, x, acc);
    });
  }

  template <Store kStore>
  float write(const Raw* s, Row row, Row later, const float* weight, float rms_inv,
              const Raw* next_x) const {
    if (row.scale) return write_as<kStore, Operand::scale>(s, row, later, weight, rms_inv, next_x);
    if (row.residual) {
      return write_as<kStore, Operand::residual>(s, row, later, weight, rms_inv, next_x);
    }
    return write_as<kStore, Operand::none>(s, row, later, weight, rms_inv, next_x);
  }

  const RmsNormParams params_;
  const Weights<E> weights_;
  const Row first_;
  const int64_t rows_, row_bytes_;
  const bool streaming_;
};

Result<void> RmsNormKernel(const NativeCall& call) {
  with_element(call.view(kRmsNormX).dtype(),
               [&](auto element) { RmsNorm<decltype(element)>(call).run(call); });
  return {};
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(RmsNormKernel);

KernelFunction rms_norm(const SimdLevel& level) { return NORITE_SIMD_SELECT(RmsNormKernel, level); }

}  // namespace norite::cpu
#endif
