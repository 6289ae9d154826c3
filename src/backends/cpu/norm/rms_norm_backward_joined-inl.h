// SPDX-License-Identifier: MIT
// rms_norm_backward where passes are joined.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_RMS_NORM_BACKWARD_JOINED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_RMS_NORM_BACKWARD_JOINED_INL_H
#undef NORITE_CPU_RMS_NORM_BACKWARD_JOINED_INL_H
#else
#define NORITE_CPU_RMS_NORM_BACKWARD_JOINED_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "backends/cpu/norm/rms_norm_backward_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

template <class E>
class RmsNormBackwardJoined : public RmsNormBackwardRows<E> {
  using Rows = RmsNormBackwardRows<E>;
  using Rows::add_terms, Rows::is_streaming, Rows::load_sums, Rows::rest_of_dx, Rows::row_at,
      Rows::scale_by, Rows::set_factors, Rows::store_sums;
  using Rows::dx_, Rows::needs_sums_, Rows::params_, Rows::rms_inv_, Rows::row_bytes_;
  using typename Rows::Row, typename Rows::Sums;

 public:
  using Rows::Rows;

  void run(const NativeCall& call) const {
    this->for_tasks(call, [this](int64_t begin, int64_t end, const float* weight, float* dw) {
      const int64_t ahead = 1 + rows_ahead(row_bytes_);
      Row row = row_at(begin, ahead);
      if (needs_sums_) add_up(row, weight, [](int64_t, size_t) {});
      for (int64_t r = begin; r < end; ++r) {
        Row next = row_at(std::min(r + 1, end - 1), ahead);
        finish(row, needs_sums_ && r + 1 < end ? &next : nullptr, weight, dw);
        row = next;
      }
    });
  }

 private:
  /// Sets the factors of a row. Calls beside(i, count) for every block, after its loads: stores
  /// would delay them.
  template <class Beside>
  HWY_INLINE void add_up(Row& row, const float* weight, Beside beside) const {
    const bool square = !rms_inv_;
    Sums even = {zero_block(), zero_block()}, odd = even;
    accumulate_blocks(params_.dim, even, odd,
                      [=, x_at = row.x, dy_at = row.dy](Sums& to, int64_t i, size_t count)
                          HWY_ATTR {
                            const Block x = load_part<E>(x_at + i, count);
                            const Block dy = load_part<E>(dy_at + i, count);
                            add_terms(to, x, dy, F32::load(weight + i), square);
                            beside(i, count);
                          });
    set_factors(row, even, odd);
  }

  /// Writes what a row gives, and meanwhile sets the factors of the next one, if there is one.
  void finish(const Row& row, Row* next, const float* weight, float* dw) const {
    if (!dx_) {
      finish_as<false, true, Store::cached>(row, next, weight, dw);
    } else if (is_streaming(row)) {
      dw ? finish_as<true, true, kStreaming>(row, next, weight, dw)
         : finish_as<true, false, kStreaming>(row, next, weight, dw);
    } else {
      dw ? finish_as<true, true, Store::cached>(row, next, weight, dw)
         : finish_as<true, false, Store::cached>(row, next, weight, dw);
    }
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
      const Block dyr = scale_by(r, dy);
      // Stores come last: loads from the same place of another page would wait for them.
      if constexpr (kDx) {
        Block rest = rest_of_dx(x_factor, x);
        if (row.dresidual) {
          prefetch_block_beside<kStore>(row.later_dresidual + i);
          rest = rest_of_dx(x_factor, x, load_part<E>(row.dresidual + i, count));
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

  static HWY_INLINE void add_to_sums(Block dyr, Block x, float* dw, size_t count) {
    store_sums(mul_add(dyr, x, load_sums(dw, count)), dw, count);
  }
};

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
