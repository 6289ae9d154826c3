// SPDX-License-Identifier: MIT
// rms_norm_backward: dx, and the sums over groups of rows that make dw. x and dy come from memory
// once: a pass over each row for its sums, and a second one that finds the row in the cache. The
// second pass over a row is the first one over the next, so that memory is read and written all the
// time.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/rms_norm_backward.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

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
        streaming_(rows_ * row_bytes_ >= kStreamBytes && dx_ && dx_ != dy_ && dx_ != dresidual_),
        needs_sums_(dx_ || !rms_inv_) {}

  void run(const NativeCall& call) const {
    const int64_t grain = dw_ ? params_.rows_per_partial : rows_per_task(2 * row_bytes_);
    call.parallel_for(rows_, grain, [&](int64_t begin, int64_t end) {
      float* const dw = dw_ ? dw_ + begin / grain * params_.dim : nullptr;
      if (dw) std::fill_n(dw, params_.dim, 0.0f);
      const float* const weight = weights_.here();
      Row row = row_at(begin);
      if (needs_sums_) add_up(row, weight, [](int64_t, size_t) {});
      for (int64_t r = begin; r < end; ++r) {
        Row next = row_at(std::min(r + 1, end - 1));
        finish(row, needs_sums_ && r + 1 < end ? &next : nullptr, weight, dw);
        row = next;
      }
      if (dw) to_plain_order(dw);
      if (streaming_) hwy::FlushStream();
    });
  }

 private:
  using Raw = typename E::Raw;
  using Row = NormBackwardRow<Raw>;
  using Sums = NormBackwardSums;

  /// Writes what a row gives, and meanwhile sets the factors of the next one, if there is one.
  void finish(const Row& row, Row* next, const float* weight, float* dw) const {
    const bool aligned = reinterpret_cast<uintptr_t>(row.dx) % (lanes() * sizeof(float)) == 0;
    if (!dx_) {
      finish_as<false, true, Store::cached>(row, next, weight, dw);
    } else if (streaming_ && aligned) {
      dw ? finish_as<true, true, kStreaming>(row, next, weight, dw)
         : finish_as<true, false, kStreaming>(row, next, weight, dw);
    } else {
      dw ? finish_as<true, true, Store::cached>(row, next, weight, dw)
         : finish_as<true, false, Store::cached>(row, next, weight, dw);
    }
  }

  Row row_at(int64_t r) const {
    const auto at = [&](auto* first, const RowStrides& strides, int64_t row) {
      return first ? first + row_offset(params_.rows, strides, row) : nullptr;
    };
    const int64_t later = std::min(r + 1 + rows_ahead(row_bytes_), rows_ - 1);
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

  /// Sets the factors of a row from s and, unless r was given, the sum of squares, in the order of
  /// the forward pass. Calls beside(i, count) for every block, after its loads: stores would delay
  /// them.
  template <class Beside>
  HWY_INLINE void add_up(Row& row, const float* weight, Beside beside) const {
    const bool square = !rms_inv_;
    Sums even = {zero_block(), zero_block()}, odd = even;
    accumulate_blocks(params_.dim, even, odd,
                      [=, x_at = row.x, dy_at = row.dy](Sums& to, int64_t i, size_t count)
                          HWY_ATTR {
                            const Block x = load_part<E>(x_at + i, count);
                            const Block dy = load_part<E>(dy_at + i, count);
                            const Block w = F32::load(weight + i);
                            if (square) to.squares = mul_add(x, x, to.squares);
                            to.dot = mul_add({hn::Mul(dy.a, w.a), hn::Mul(dy.b, w.b)}, x, to.dot);
                            beside(i, count);
                          });
    const auto dim = static_cast<float>(params_.dim);
    if (square) {
      row.rms_inv = 1.0f / std::sqrt(sum_of(even.squares, odd.squares) / dim + params_.eps);
    }
    const float r = row.rms_inv;
    row.x_factor = -(sum_of(even.dot, odd.dot) * r * r / dim * r);
  }

  template <bool kDx, bool kDw, Store kStore>
  void finish_as(Row row, Row* next, const float* weight, float* dw) const {
    const VF r = hn::Set(DF(), row.rms_inv);
    const VF x_factor = hn::Set(DF(), row.x_factor);
    const auto finish_block = [=](int64_t i, size_t count) HWY_ATTR {
      prefetch_block_beside<kStore>(row.later_x + i);
      prefetch_block_beside<kStore>(row.later_dy + i);
      const Block x = load_part<E>(row.x + i, count);
      const Block dy = load_part<E>(row.dy + i, count);
      const Block dyr = {hn::Mul(dy.a, r), hn::Mul(dy.b, r)};
      // Stores come last: loads from the same place of another page would wait for them.
      if constexpr (kDx) {
        Block rest = {hn::Mul(x.a, x_factor), hn::Mul(x.b, x_factor)};
        if (row.dresidual) {
          prefetch_block_beside<kStore>(row.later_dresidual + i);
          rest = mul_add(x, {x_factor, x_factor}, load_part<E>(row.dresidual + i, count));
        }
        const Block dx = mul_add(dyr, F32::load(weight + i), rest);
        if constexpr (kDw) add_to_sums(dyr, x, dw + i, count);
        store_part<E, kStore>(dx, row.dx + i, count);
      } else {
        add_to_sums(dyr, x, dw + i, count);
      }
    };
    next ? add_up(*next, weight, finish_block) : for_blocks(params_.dim, finish_block);
  }

  // Sums stay in block order while rows are added, but for a last part, which has no room for it.
  static HWY_INLINE Block load_sums(const float* dw, size_t count) {
    return count == block() ? F32::load(dw) : load_f32_part<E>(dw, count);
  }
  static HWY_INLINE void add_to_sums(Block dyr, Block x, float* dw, size_t count) {
    const Block sums = mul_add(dyr, x, load_sums(dw, count));
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
