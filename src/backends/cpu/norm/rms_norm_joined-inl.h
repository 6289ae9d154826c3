// SPDX-License-Identifier: MIT
// rms_norm, rms_norm_mul and residual_rms_norm where passes are joined.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_RMS_NORM_JOINED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_RMS_NORM_JOINED_INL_H
#undef NORITE_CPU_RMS_NORM_JOINED_INL_H
#else
#define NORITE_CPU_RMS_NORM_JOINED_INL_H
#endif

#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>

#include "backends/cpu/norm/rms_norm_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

template <class E>
class RmsNormJoined : public RmsNormRows<E> {
  using Rows = RmsNormRows<E>;
  using Rows::add_residual, Rows::finish_sum, Rows::is_streaming, Rows::multiply, Rows::row_at,
      Rows::scale_block, Rows::sum_squares;
  using Rows::first_, Rows::params_, Rows::row_bytes_, Rows::rows_, Rows::streaming_,
      Rows::weights_;
  using typename Rows::Raw, typename Rows::Row;

 public:
  using Rows::Rows;

  void run(const NativeCall& call) const {
    this->for_tasks(call, [this](int64_t begin, int64_t end) { run_rows(begin, end); });
  }

 private:
  void run_rows(int64_t begin, int64_t end) const {
    // A sum that is streamed out would have to come back from memory for the second pass, so that
    // reads it here.
    hwy::AlignedFreeUniquePtr<Raw[]> kept;
    if (streaming_ && first_.sum != first_.residual) {
      kept = hwy::AllocateAligned<Raw>(padded_to_blocks(params_.dim));
    }
    const float* const weight = weights_.here();
    float squares = first_.sum ? 0.0f : sum_of_row(row_at(begin).x);
    for (int64_t r = begin; r < end; ++r) {
      const Row row = row_at(r);
      const int64_t summed = first_.sum ? r : r + 1;  // the row that comes from memory meanwhile
      const Row later = row_at(std::min(summed + rows_ahead(row_bytes_), rows_ - 1));
      const bool streaming = is_streaming(row);
      Raw* const sum = streaming && kept ? kept.get() : row.sum;
      if (sum) {
        squares = add_residual(row, sum, [=](int64_t i) HWY_ATTR {
          prefetch_block(later.x + i);
          prefetch_block(later.residual + i);
        });
      }
      const float rms_inv = finish_sum(row, squares);
      const Raw* const next_x = sum || r + 1 == end ? nullptr : row_at(r + 1).x;
      if (!row.y) {
        if (next_x) squares = sum_of_row(next_x);
      } else if (streaming) {
        squares = write<kStreaming>(sum ? sum : row.x, row, later, weight, rms_inv, next_x);
      } else {
        squares = write<Store::cached>(sum ? sum : row.x, row, later, weight, rms_inv, next_x);
      }
    }
  }

  /// What a row has besides x.
  enum class Operand { none, residual, scale };

  /// Asks for each block just before its load: the hardware then fetches further ahead.
  float sum_of_row(const Raw* x) const {
    return sum_squares(x, [=](int64_t i) HWY_ATTR { prefetch_block(x + i); });
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
      Block y = scale_block(v, r, round_first, weight + i);
      if constexpr (kOperand == Operand::scale) {
        prefetch_block_beside<kStore>(later.scale + i);
        y = multiply(y, load_part<E>(row.scale + i, count));
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
};

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
