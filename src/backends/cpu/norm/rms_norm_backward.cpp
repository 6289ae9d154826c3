// SPDX-License-Identifier: MIT
// rms_norm_backward: dx, and the sums over groups of rows that make dw. A few rows go together: one
// pass over each for its sums, then one over all of them, which loads weights and dw sums once for
// all rows. x and dy come from memory once; both passes prefetch the rows of the next few.

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

/// Rows that share one load and store of the dw sums.
constexpr int64_t kRowsTogether = 4;

template <class Raw>
struct NormBackwardRow {
  const Raw *x, *dy, *dresidual;                 // dresidual: nullptr when absent
  const Raw *next_x, *next_dy, *next_dresidual;  // a row to come, prefetched meanwhile
  Raw* dx;
  float rms_inv;
  float shrink;  // s * r^2 / dim
};

template <class E>
class RmsNormBackward {
 public:
  RmsNormBackward(const NativeCall& call, const float* weight)
      : params_(call.constants<RmsNormBackwardParams>(kRmsNormBackwardParams)),
        weight_(weight),
        x_(call.data<Raw>(kRmsNormBackwardX)),
        dy_(call.data<Raw>(kRmsNormBackwardDy)),
        dresidual_(call.data<Raw>(kRmsNormBackwardDresidual)),
        rms_inv_(call.data<float>(kRmsNormBackwardRmsInv)),
        dx_(call.data<Raw>(kRmsNormBackwardDx)),
        dw_(call.data<float>(kRmsNormBackwardDwPartial)),
        rows_(row_count(params_.rows)) {
    const int64_t bytes = rows_ * params_.dim * static_cast<int64_t>(sizeof(Raw));
    streaming_ = bytes >= kStreamBytes && dx_ != dy_ && dx_ != dresidual_;
  }

  void run(const NativeCall& call) const {
    const int64_t row_bytes = 2 * params_.dim * static_cast<int64_t>(sizeof(Raw));
    const int64_t grain = dw_ ? params_.rows_per_partial : rows_per_task(row_bytes);
    call.parallel_for(rows_, grain, [&](int64_t begin, int64_t end) {
      float* const dw = dw_ ? dw_ + begin / grain * params_.dim : nullptr;
      if (dw) std::fill_n(dw, params_.dim, 0.0f);
      for (int64_t r = begin; r < end; r += kRowsTogether) {
        run_together(r, std::min(kRowsTogether, end - r), dw);
      }
      if (dw) to_plain_order(dw);
      hwy::FlushStream();
    });
  }

 private:
  using Raw = typename E::Raw;
  using Row = NormBackwardRow<Raw>;
  struct RowSums {
    Block squares, dot;
  };

  void run_together(int64_t first, int64_t count, float* dw) const {
    Row rows[kRowsTogether];
    bool streaming = streaming_;
    for (int64_t k = 0; k < count; ++k) {
      rows[k] = row_at(first + k, first + count + k);
      if (dx_ || !rms_inv_) add_sums(rows[k]);
      streaming &= reinterpret_cast<uintptr_t>(rows[k].dx) % (lanes() * sizeof(float)) == 0;
    }
    if (!dx_) {
      finish<false, true, Store::cached>(rows, count, dw);
    } else if (streaming) {
      dw ? finish<true, true, Store::streaming>(rows, count, dw)
         : finish<true, false, Store::streaming>(rows, count, dw);
    } else {
      dw ? finish<true, true, Store::cached>(rows, count, dw)
         : finish<true, false, Store::cached>(rows, count, dw);
    }
  }

  Row row_at(int64_t r, int64_t ahead) const {
    const auto at = [&](auto* first, const RowStrides& strides, int64_t row) {
      return first ? first + row_offset(params_.rows, strides, row) : nullptr;
    };
    const int64_t next = std::min(ahead, rows_ - 1);
    return {.x = at(x_, params_.x, r),
            .dy = at(dy_, params_.dy, r),
            .dresidual = at(dresidual_, params_.dresidual, r),
            .next_x = at(x_, params_.x, next),
            .next_dy = at(dy_, params_.dy, next),
            .next_dresidual = at(dresidual_, params_.dresidual, next),
            .dx = at(dx_, params_.dx, r),
            .rms_inv = rms_inv_ ? *at(rms_inv_, params_.rms_inv, r) : 0.0f,
            .shrink = 0.0f};
  }

  /// s and, unless it was given, r. The squares are summed in the order of the forward pass.
  void add_sums(Row& row) const {
    RowSums even = {zero_block(), zero_block()};
    RowSums odd = even;
    const auto accumulate = [=, this](RowSums& sums, int64_t i, size_t count) HWY_ATTR {
      prefetch_block(row.next_x + i);
      prefetch_block(row.next_dy + i);
      const Block x = load_part<E>(row.x + i, count);
      const Block dy = load_part<E>(row.dy + i, count);
      const Block w = F32::load(weight_ + i);
      sums.squares = mul_add(x, x, sums.squares);
      sums.dot = mul_add({hn::Mul(dy.a, w.a), hn::Mul(dy.b, w.b)}, x, sums.dot);
    };
    accumulate_blocks(params_.dim, even, odd, accumulate);
    const auto dim = static_cast<float>(params_.dim);
    if (!rms_inv_) {
      row.rms_inv = 1.0f / std::sqrt(sum_of(even.squares, odd.squares) / dim + params_.eps);
    }
    row.shrink = sum_of(even.dot, odd.dot) * row.rms_inv * row.rms_inv / dim;
  }

  template <bool kDx, bool kDw, Store kStore>
  void finish(const Row* rows, int64_t row_count, float* dw) const {
    const float* weight = weight_;
    for_blocks(params_.dim, [=](int64_t i, size_t count) HWY_ATTR {
      const Block w = F32::load(weight + i);
      Block sums = zero_block();
      if constexpr (kDw) sums = load_sums(dw + i, count);
      for (const Row* row = rows; row != rows + row_count; ++row) {
        prefetch_block(row->next_x + i);
        prefetch_block(row->next_dy + i);
        const Block x = load_part<E>(row->x + i, count);
        const Block dy = load_part<E>(row->dy + i, count);
        const VF r = hn::Set(DF(), row->rms_inv);
        if constexpr (kDw) sums = mul_add({hn::Mul(dy.a, x.a), hn::Mul(dy.b, x.b)}, {r, r}, sums);
        if constexpr (kDx) {
          const VF shrink = hn::Set(DF(), row->shrink);
          Block dx = {hn::NegMulAdd(x.a, shrink, hn::Mul(dy.a, w.a)),
                      hn::NegMulAdd(x.b, shrink, hn::Mul(dy.b, w.b))};
          if (row->dresidual) {
            prefetch_block(row->next_dresidual + i);
            dx = mul_add(dx, {r, r}, load_part<E>(row->dresidual + i, count));
          } else {
            dx = {hn::Mul(dx.a, r), hn::Mul(dx.b, r)};
          }
          store_part<E, kStore>(dx, row->dx + i, count);
        }
      }
      if constexpr (kDw) store_sums(sums, dw + i, count);
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
  const float* weight_;
  const Raw *x_, *dy_, *dresidual_;
  const float* rms_inv_;
  Raw* dx_;
  float* dw_;
  const int64_t rows_;
  bool streaming_;
};

template <class E>
Result<void> rms_norm_backward_as(const NativeCall& call) {
  const auto& params = call.constants<RmsNormBackwardParams>(kRmsNormBackwardParams);
  const auto weight = hwy::AllocateAligned<float>(padded_to_blocks(params.dim));
  if (!weight) {
    return fail(Code::out_of_memory, "rms_norm_backward: no memory for the weights in f32");
  }
  expand_weight<E>(call.data<void>(kRmsNormBackwardWeight),
                   call.view(kRmsNormBackwardWeight).dtype(), params.weight_mode, params.dim,
                   weight.get());
  RmsNormBackward<E>(call, weight.get()).run(call);
  return {};
}

Result<void> RmsNormBackwardKernel(const NativeCall& call) {
  switch (call.view(kRmsNormBackwardX).dtype()) {
    case DType::f16:
      return rms_norm_backward_as<F16>(call);
    case DType::bf16:
      return rms_norm_backward_as<BF16>(call);
    default:
      return rms_norm_backward_as<F32>(call);
  }
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
