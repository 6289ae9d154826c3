// SPDX-License-Identifier: MIT
// rms_norm, rms_norm_mul and residual_rms_norm where passes are apart.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_RMS_NORM_APART_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_RMS_NORM_APART_INL_H
#undef NORITE_CPU_RMS_NORM_APART_INL_H
#else
#define NORITE_CPU_RMS_NORM_APART_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "backends/cpu/norm/passes.hpp"
#include "backends/cpu/norm/rms_norm_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

template <class E>
class RmsNormApart : public RmsNormRows<E> {
  using Rows = RmsNormRows<E>;
  using Rows::add_residual, Rows::finish_sum, Rows::is_streaming, Rows::multiply, Rows::row_at,
      Rows::scale_block, Rows::sum_block, Rows::sum_squares;
  using Rows::first_, Rows::params_, Rows::row_bytes_, Rows::rows_, Rows::weights_;
  using typename Rows::Raw, typename Rows::Row;

 public:
  using Rows::Rows;

  void run(const NativeCall& call) const {
    this->for_tasks(call, [this](int64_t begin, int64_t end) { run_rows(begin, end); });
  }

 private:
  void run_rows(int64_t begin, int64_t end) const {
    const float* const weight = weights_.here();
    const int64_t read_bytes = row_bytes_ * (first_.scale || first_.residual ? 2 : 1);
    const int64_t together = rows_a_pass(read_bytes);
    const int64_t ahead = rows_ahead(read_bytes);
    const auto later = [=, this](int64_t r) { return row_at(std::min(r + ahead, rows_ - 1)); };
    std::array<float, kMostRowsAPass> rms_inv;
    for (int64_t r = begin; r < end; r += together) {
      const int64_t count = std::min(together, end - r);
      for (int64_t k = 0; k < count; ++k) rms_inv[k] = rms_inv_of(row_at(r + k), later(r + k));
      if (!first_.y) continue;
      for (int64_t k = 0; k < count; ++k) write(row_at(r + k), later(r + k), weight, rms_inv[k]);
    }
  }

  /// How far ahead of its loads the second pass asks for a row's scale: what the first one could
  /// not fetch of it comes from memory now. 1 KiB and 4 KiB are slower by 2 to 5 %.
  static constexpr int64_t kScaleAhead = int64_t{2048} / sizeof(Raw);

  /// What the second pass reads besides x or the sum.
  enum class Operand { none, addend, scale };

  /// A sum that is streamed out is added up again in the second pass, which costs less than a copy.
  bool adds_again(const Row& row) const {
    return row.sum && !row.scale && is_streaming(row) && row.sum != row.residual &&
           row.sum != row.x;
  }

  /// The first pass over a row. It is all there is to a call without an output of rows: then it
  /// fetches what the second one would.
  float rms_inv_of(const Row& row, const Row& later) const {
    return finish_sum(row, row.sum ? add_residual_of(row, later) : squares_of(row, later));
  }
  float add_residual_of(const Row& row, const Row& later) const {
    return add_residual(row, adds_again(row) ? nullptr : row.sum,
                        [residual = later.residual](int64_t i)
                            HWY_ATTR { prefetch_narrow_block(residual + i); });
  }
  float squares_of(const Row& row, const Row& later) const {
    if (row.scale) {  // its first half, each line twice; asking for all of it is a tenth slower
      return sum_squares(row.x, [scale = row.scale](int64_t i)
                                    HWY_ATTR { prefetch_block<Cache::l1>(scale + i / 2); });
    }
    const auto fetch_later_x = [&](int halving) {
      return sum_squares(row.x, [x = later.x, halving](int64_t i)
                                    HWY_ATTR { prefetch_block<Cache::l1>(x + (i >> halving)); });
    };
    if (!row.y) return fetch_later_x(0);
    if (fetches_halves()) return fetch_later_x(1);
    return sum_squares(row.x, [](int64_t) {});
  }

  /// Of long 16-bit rows each pass fetches half of the x of a later one, asking twice for a line:
  /// the second one alone does not get all of it in time. Not where the first one has something
  /// else to fetch.
  bool fetches_halves() const {
    constexpr int64_t kLongBytes = int64_t{16} << 10;
    return sizeof(Raw) < sizeof(float) && row_bytes_ >= kLongBytes && !first_.scale && !first_.sum;
  }

  /// The second one.
  void write(const Row& row, const Row& later, const float* weight, float rms_inv) const {
    is_streaming(row) ? write_to<kStreaming>(row, later, weight, rms_inv)
                      : write_to<Store::cached>(row, later, weight, rms_inv);
  }
  template <Store kStore>
  void write_to(const Row& row, const Row& later, const float* weight, float rms_inv) const {
    const Raw* const s = row.sum ? row.sum : row.x;
    if (row.scale) return write_as<kStore, Operand::scale>(s, row, later.x, weight, rms_inv);
    if constexpr (kStore == kStreaming) {
      if (adds_again(row)) {
        return write_as<kStore, Operand::addend>(row.x, row, later.x, weight, rms_inv);
      }
    }
    return write_as<kStore, Operand::none>(s, row, later.x, weight, rms_inv);
  }

  /// y = s * rms_inv * weight [* scale]; Operand::addend: s + residual for s.
  template <Store kStore, Operand kOperand>
  void write_as(const Raw* s, const Row& row, const Raw* later_x, const float* weight,
                float rms_inv) const {
    const VF r = hn::Set(DF(), rms_inv);
    const bool round_first = params_.rounding == kRoundBeforeWeight;
    const int halving = fetches_halves() ? 1 : 0;
    const Raw* const fetched = later_x + (halving ? params_.dim / 2 : 0);
    for_blocks(params_.dim, [=](int64_t i, size_t count) HWY_ATTR {
      prefetch_block<Cache::l1>(fetched + (i >> halving));
      const Block v = kOperand == Operand::addend ? E::unpack(sum_block(row, i, count))
                                                    : load_part<E>(s + i, count);
      Block y = scale_block(v, r, round_first, weight + i);
      if constexpr (kOperand == Operand::scale) {
        prefetch_block<Cache::l1>(row.scale + i + kScaleAhead);
        y = multiply(y, load_part<E>(row.scale + i, count));
      }
      store_part<E, kStore>(y, row.y + i, count);
    });
  }
};

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
