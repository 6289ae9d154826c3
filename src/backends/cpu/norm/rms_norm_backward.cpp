// SPDX-License-Identifier: MIT
// rms_norm_backward: dx, and the sums over groups of rows that make dw. x and dy come from memory
// once: a pass over each row for its sums, and a second one that finds the row in the cache. The
// second pass over some rows is the first one over the rows after them, so that memory is read and
// written all the time.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/rms_norm_backward.cpp"
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

// A few rows are finished together, strip by strip, so that a strip of weights and dw sums stays in
// the L1 cache for all of them. The rows themselves wait in the L2 cache.
constexpr int64_t kStrip = 1024;  // a multiple of every block
constexpr int64_t kRowsTogether = 4;
constexpr int64_t kBytesTogether = 128 << 10;

struct NormBackwardSums {
  Block squares, dot;
};

template <class Raw>
struct NormBackwardRow {
  const Raw *x, *dy, *dresidual;                    // dresidual: nullptr when absent
  const Raw *later_x, *later_dy, *later_dresidual;  // of a row to come, prefetched meanwhile
  Raw* dx;
  float rms_inv;
  float x_factor;  // -s * r^3 / dim
};

template <class E>
class RmsNormBackward {
 public:
  explicit RmsNormBackward(const NativeCall& call)
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
        together_(std::clamp<int64_t>(kBytesTogether / (2 * row_bytes_), 1, kRowsTogether)),
        streaming_(rows_ * row_bytes_ >= kStreamBytes && dx_ && dx_ != dy_ && dx_ != dresidual_),
        needs_sums_(dx_ || !rms_inv_) {}

  void run(const NativeCall& call) const {
    const int64_t grain = dw_ ? params_.rows_per_partial : rows_per_task(2 * row_bytes_);
    call.parallel_for(rows_, grain, [&](int64_t begin, int64_t end) {
      float* const dw = dw_ ? dw_ + begin / grain * params_.dim : nullptr;
      if (dw) std::fill_n(dw, params_.dim, 0.0f);
      const float* const weight = weights_.here();
      Together now = together_at(begin, end);
      for (int64_t k = 0; k < now.count; ++k) add_sums(now, k, 0, params_.dim, weight);
      for (int64_t r = begin; r < end; r += together_) {
        Together next = together_at(r + together_, end);
        finish_together(now, next, weight, dw);
        now = next;
      }
      if (dw) to_plain_order(dw);
      if (streaming_) hwy::FlushStream();
    });
  }

 private:
  using Raw = typename E::Raw;
  using Row = NormBackwardRow<Raw>;
  using Sums = NormBackwardSums;
  struct Together {
    Row rows[kRowsTogether];
    Sums even[kRowsTogether], odd[kRowsTogether];  // of the blocks of each row
    int64_t count = 0;
  };

  Together together_at(int64_t first, int64_t end) const {
    Together together;
    together.count = std::clamp<int64_t>(end - first, 0, together_);
    const Sums zero = {zero_block(), zero_block()};
    for (int64_t k = 0; k < together.count; ++k) {
      together.rows[k] = row_at(first + k);
      together.even[k] = together.odd[k] = zero;
    }
    return together;
  }

  /// Writes what `now` gives, whose sums are complete, and finds those of `next`, strip by strip:
  /// so that memory is read and written all the time.
  void finish_together(Together& now, Together& next, const float* weight, float* dw) const {
    for (int64_t k = 0; k < now.count; ++k) set_factors(now, k);
    for (int64_t begin = 0; begin < params_.dim; begin += kStrip) {
      const int64_t end = std::min(begin + kStrip, params_.dim);
      for (int64_t k = 0; k < now.count; ++k) finish(now.rows[k], begin, end, weight, dw);
      for (int64_t k = 0; k < next.count; ++k) add_sums(next, k, begin, end, weight);
    }
  }

  void finish(const Row& row, int64_t begin, int64_t end, const float* weight, float* dw) const {
    const bool aligned = reinterpret_cast<uintptr_t>(row.dx) % (lanes() * sizeof(float)) == 0;
    if (!dx_) {
      finish_as<false, true, Store::cached>(row, begin, end, weight, dw);
    } else if (streaming_ && aligned) {
      dw ? finish_as<true, true, Store::streaming>(row, begin, end, weight, dw)
         : finish_as<true, false, Store::streaming>(row, begin, end, weight, dw);
    } else {
      dw ? finish_as<true, true, Store::cached>(row, begin, end, weight, dw)
         : finish_as<true, false, Store::cached>(row, begin, end, weight, dw);
    }
  }

  Row row_at(int64_t r) const {
    const auto at = [&](auto* first, const RowStrides& strides, int64_t row) {
      return first ? first + row_offset(params_.rows, strides, row) : nullptr;
    };
    const int64_t later = std::min(r + together_, rows_ - 1);
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

  /// The terms of s and, unless r was given, the squares, in the order of the forward pass. Strips
  /// are of whole pairs of blocks, so that each adds to the sums that the row as one would.
  void add_sums(Together& to, int64_t k, int64_t begin, int64_t end, const float* weight) const {
    if (!needs_sums_) return;
    const Row from = to.rows[k];
    const bool square = !rms_inv_;
    Sums even = to.even[k], odd = to.odd[k];  // copies stay in registers
    accumulate_blocks(end - begin, even, odd,
                      [=](Sums& sums, int64_t offset, size_t count) HWY_ATTR {
                        const int64_t i = begin + offset;
                        prefetch_block(from.later_x + i);  // the other pass may lose requests
                        prefetch_block(from.later_dy + i);
                        const Block x = load_part<E>(from.x + i, count);
                        const Block dy = load_part<E>(from.dy + i, count);
                        const Block w = F32::load(weight + i);
                        if (square) sums.squares = mul_add(x, x, sums.squares);
                        sums.dot = mul_add({hn::Mul(dy.a, w.a), hn::Mul(dy.b, w.b)}, x, sums.dot);
                      });
    to.even[k] = even;
    to.odd[k] = odd;
  }

  void set_factors(Together& together, int64_t k) const {
    if (!needs_sums_) return;
    Row& row = together.rows[k];
    const Sums even = together.even[k], odd = together.odd[k];
    const auto dim = static_cast<float>(params_.dim);
    if (!rms_inv_) {
      row.rms_inv = 1.0f / std::sqrt(sum_of(even.squares, odd.squares) / dim + params_.eps);
    }
    const float r = row.rms_inv;
    row.x_factor = -(sum_of(even.dot, odd.dot) * r * r / dim * r);
  }

  /// Columns [begin, end) of one row.
  template <bool kDx, bool kDw, Store kStore>
  void finish_as(Row row, int64_t begin, int64_t end, const float* weight, float* dw) const {
    const VF r = hn::Set(DF(), row.rms_inv);
    const VF x_factor = hn::Set(DF(), row.x_factor);
    for_blocks(end - begin, [=](int64_t offset, size_t count) HWY_ATTR {
      const int64_t i = begin + offset;
      prefetch_block(row.later_x + i);
      prefetch_block(row.later_dy + i);
      const Block x = load_part<E>(row.x + i, count);
      const Block dy = load_part<E>(row.dy + i, count);
      const Block dyr = {hn::Mul(dy.a, r), hn::Mul(dy.b, r)};
      if constexpr (kDw) {
        store_sums(mul_add(dyr, x, load_sums(dw + i, count)), dw + i, count);
      }
      if constexpr (kDx) {
        Block rest = {hn::Mul(x.a, x_factor), hn::Mul(x.b, x_factor)};
        if (row.dresidual) {
          prefetch_block(row.later_dresidual + i);
          rest = mul_add(x, {x_factor, x_factor}, load_part<E>(row.dresidual + i, count));
        }
        const Block w = F32::load(weight + i);
        store_part<E, kStore>(mul_add(dyr, w, rest), row.dx + i, count);
      }
    });
  }

  // Sums stay in block order while rows are added, but for a last part, which has no room for it.
  static HWY_INLINE Block load_sums(const float* dw, size_t count) {
    return count == block() ? F32::load(dw) : load_f32_part<E>(dw, count);
  }
  static HWY_INLINE void store_sums(Block sums, float* dw, size_t count) {
    count == block() ? F32::store_f32(sums, dw) : store_f32_part<E>(sums, dw, count);
  }
  void to_plain_order(float* dw) const {
    for_blocks(params_.dim, [=](int64_t i, size_t count) HWY_ATTR {
      store_f32_part<E>(load_sums(dw + i, count), dw + i, count);
    });
  }

  const RmsNormBackwardParams params_;
  const Weights<E> weights_;
  const Raw *x_, *dy_, *dresidual_;
  const float* rms_inv_;
  Raw* dx_;
  float* dw_;
  const int64_t rows_, row_bytes_;
  const int64_t together_;
  const bool streaming_, needs_sums_;
};

Result<void> RmsNormBackwardKernel(const NativeCall& call) {
  with_element(call.view(kRmsNormBackwardX).dtype(),
               [&](auto element) { RmsNormBackward<decltype(element)>(call).run(call); });
  return {};
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(RmsNormBackwardKernel);

KernelFunction rms_norm_backward(const SimdLevel& level) {
  return NORITE_SIMD_SELECT(RmsNormBackwardKernel, level);
}

}  // namespace norite::cpu
#endif
