// SPDX-License-Identifier: MIT
// rms_norm_backward where passes are apart.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_RMS_NORM_BACKWARD_APART_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_RMS_NORM_BACKWARD_APART_INL_H
#undef NORITE_CPU_RMS_NORM_BACKWARD_APART_INL_H
#else
#define NORITE_CPU_RMS_NORM_BACKWARD_APART_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "backends/cpu/norm/passes.hpp"
#include "backends/cpu/norm/rms_norm_backward_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Rows that a pass works on together where weights and sums of dw do not stay in the L1 from row
/// to row: they share loads of weights, and loads and stores of sums. As many as have room for what
/// they keep in registers.
inline constexpr int64_t kRowsAddedUp = 2;
inline constexpr int64_t kRowsFinished = 4;

template <class E>
class RmsNormBackwardApart : public RmsNormBackwardRows<E> {
  using Rows = RmsNormBackwardRows<E>;
  using Rows::add_terms, Rows::is_streaming, Rows::load_sums, Rows::rest_of_dx, Rows::row_at,
      Rows::scale_by, Rows::set_factors, Rows::store_sums;
  using Rows::dresidual_, Rows::dw_, Rows::dx_, Rows::needs_sums_, Rows::params_, Rows::rms_inv_,
      Rows::row_bytes_;
  using typename Rows::Raw, typename Rows::Row, typename Rows::Sums;

 public:
  using Rows::Rows;

  void run(const NativeCall& call) const {
    constexpr int64_t kStayInL1 = int64_t{32} << 10;
    const int64_t weight_bytes = params_.dim * static_cast<int64_t>(sizeof(float));
    const bool sharing = 2 * row_bytes_ + 2 * weight_bytes > kStayInL1;
    this->for_tasks(call, [=, this](int64_t begin, int64_t end, const float* weight, float* dw) {
      sharing ? run_rows<kRowsAddedUp, kRowsFinished>(begin, end, weight, dw)
              : run_rows<1, 1>(begin, end, weight, dw);
    });
  }

 private:
  template <int64_t kAddedUp, int64_t kFinished>
  void run_rows(int64_t begin, int64_t end, const float* weight, float* dw) const {
    const int64_t together = std::max(kFinished, rows_a_pass(row_bytes_));
    const int64_t ahead = std::max(together, rows_ahead(2 * row_bytes_));
    static_assert(kFinished <= kMostRowsAPass);
    std::array<Row, kMostRowsAPass> rows;
    for (int64_t r = begin; r < end; r += together) {
      const int64_t count = std::min(together, end - r);
      for (int64_t k = 0; k < count; ++k) rows[k] = row_at(r + k, ahead);
      if (needs_sums_) {
        for_rows<kAddedUp>(count, [&](auto n, int64_t k) { add_up<n>(&rows[k], weight); });
      }
      for_rows<kFinished>(count, [&](auto n, int64_t k) { finish<n>(&rows[k], weight, dw); });
    }
  }

  /// Calls body(n, k), n a constant, for rows [k, k + n): kRows of them, as long as there are that
  /// many, then each by itself.
  template <int64_t kRows, class Body>
  static HWY_INLINE void for_rows(int64_t count, Body body) {
    int64_t k = 0;
    for (; k + kRows <= count; k += kRows) body(std::integral_constant<int64_t, kRows>(), k);
    for (; k < count; ++k) body(std::integral_constant<int64_t, 1>(), k);
  }

  /// The first pass over rows, which sets their factors.
  template <int64_t kRows>
  void add_up(Row* rows, const float* weight) const {
    rms_inv_ ? add_up_as<kRows, false>(rows, weight) : add_up_as<kRows, true>(rows, weight);
  }
  template <int64_t kRows, bool kSquare>
  void add_up_as(Row* rows, const float* weight) const {
    std::array<const Raw*, kRows> x, dy, later_dy;
    for (int64_t k = 0; k < kRows; ++k) {
      x[k] = rows[k].x, dy[k] = rows[k].dy, later_dy[k] = rows[k].later_dy;
    }
    std::array<Sums, kRows> even, odd;
    even.fill({zero_block(), zero_block()});
    odd = even;
    accumulate_blocks(params_.dim, even, odd,
                      [=](std::array<Sums, kRows>& sums, int64_t i, size_t count) HWY_ATTR {
                        const Block w = F32::load(weight + i);
                        for (int64_t k = 0; k < kRows; ++k) {
                          prefetch_narrow_block(later_dy[k] + i);
                          const Block x_k = load_part<E>(x[k] + i, count);
                          const Block dy_k = load_part<E>(dy[k] + i, count);
                          add_terms(sums[k], x_k, dy_k, w, kSquare);
                        }
                      });
    for (int64_t k = 0; k < kRows; ++k) set_factors(rows[k], even[k], odd[k]);
  }

  /// The second pass over rows, which writes what they give.
  template <int64_t kRows>
  void finish(const Row* rows, const float* weight, float* dw) const {
    if (!dx_) return finish_as<kRows, false, true, false, Store::cached>(rows, weight, dw);
    dw ? finish_dx<kRows, true>(rows, weight, dw) : finish_dx<kRows, false>(rows, weight, dw);
  }
  template <int64_t kRows, bool kDw>
  void finish_dx(const Row* rows, const float* weight, float* dw) const {
    dresidual_ ? finish_dx_as<kRows, kDw, true>(rows, weight, dw)
               : finish_dx_as<kRows, kDw, false>(rows, weight, dw);
  }
  template <int64_t kRows, bool kDw, bool kDresidual>
  void finish_dx_as(const Row* rows, const float* weight, float* dw) const {
    std::all_of(rows, rows + kRows, [this](const Row& row) { return is_streaming(row); })
        ? finish_as<kRows, true, kDw, kDresidual, kStreaming>(rows, weight, dw)
        : finish_as<kRows, true, kDw, kDresidual, Store::cached>(rows, weight, dw);
  }

  template <int64_t kRows, bool kDx, bool kDw, bool kDresidual, Store kStore>
  void finish_as(const Row* rows, const float* weight, float* dw) const {
    std::array<const Raw*, kRows> x, dy, dresidual, later_x, later_dresidual;
    std::array<Raw*, kRows> dx;
    std::array<VF, kRows> r, x_factor;
    for (int64_t k = 0; k < kRows; ++k) {
      x[k] = rows[k].x, dy[k] = rows[k].dy, dresidual[k] = rows[k].dresidual;
      later_x[k] = rows[k].later_x, later_dresidual[k] = rows[k].later_dresidual;
      dx[k] = rows[k].dx;
      r[k] = hn::Set(DF(), rows[k].rms_inv), x_factor[k] = hn::Set(DF(), rows[k].x_factor);
    }
    for_blocks(params_.dim, [=](int64_t i, size_t count) HWY_ATTR {
      std::array<Block, kRows> dx_i;
      Block sums;
      if constexpr (kDw) sums = load_sums(dw + i, count);
      for (int64_t k = 0; k < kRows; ++k) {
        prefetch_block<Cache::l1>(later_x[k] + i);
        const Block x_k = load_part<E>(x[k] + i, count);
        const Block dy_k = load_part<E>(dy[k] + i, count);
        const Block dyr = scale_by(r[k], dy_k);
        if constexpr (kDw) sums = mul_add(dyr, x_k, sums);
        if constexpr (kDx) {
          Block rest = rest_of_dx(x_factor[k], x_k);
          if constexpr (kDresidual) {
            prefetch_block<Cache::l1>(later_dresidual[k] + i);
            rest = rest_of_dx(x_factor[k], x_k, load_part<E>(dresidual[k] + i, count));
          }
          dx_i[k] = mul_add(dyr, F32::load(weight + i), rest);
        }
      }
      // Stores come last: loads from the same place of another page would wait for them.
      if constexpr (kDw) store_sums(sums, dw + i, count);
      if constexpr (kDx) {
        for (int64_t k = 0; k < kRows; ++k) store_part<E, kStore>(dx_i[k], dx[k] + i, count);
      }
    });
  }
};

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
