// SPDX-License-Identifier: MIT
// Sums over a row whose order depends on nothing but its length.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_SUMS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_SUMS_INL_H
#undef NORITE_CPU_SUMS_INL_H
#else
#define NORITE_CPU_SUMS_INL_H
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "backends/cpu/simd/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

HWY_INLINE Block zero_block() { return {hn::Zero(DF()), hn::Zero(DF())}; }

/// acc + x * y, element by element.
HWY_INLINE Block mul_add(Block x, Block y, Block acc) {
  return {hn::MulAdd(x.a, y.a, acc.a), hn::MulAdd(x.b, y.b, acc.b)};
}

/// Two blocks as one vector.
HWY_INLINE VF sum_by_lane(Block even, Block odd) {
  return hn::Add(hn::Add(even.a, odd.a), hn::Add(even.b, odd.b));
}

/// All elements of two blocks.
HWY_INLINE float sum_of(Block even, Block odd) {
  return hn::GetLane(hn::SumOfLanes(DF(), sum_by_lane(even, odd)));
}

/// accumulate(sums, i, count) adds the terms of one block, as in for_blocks, to sums that start as
/// zero. Even and odd blocks have sums of their own: more chains of additions hide their latency.
template <class Sums, class Accumulate>
HWY_INLINE void accumulate_blocks(int64_t dim, Sums& even, Sums& odd, Accumulate accumulate) {
  constexpr int64_t kBlock = static_cast<int64_t>(block());
  int64_t i = 0;
  for (; i + 2 * kBlock <= dim; i += 2 * kBlock) {
    accumulate(even, i, block());
    accumulate(odd, i + kBlock, block());
  }
  if (i + kBlock <= dim) {
    accumulate(even, i, block());
    i += kBlock;
  }
  if (i < dim) {
    // odd, and what accumulate captures, stay in registers, whether this call is inlined or not.
    Sums last = odd;
    Accumulate copy = accumulate;
    copy(last, i, static_cast<size_t>(dim - i));
    odd = last;
  }
}

/// Sum over [0, dim) of what accumulate(acc, i, count) adds to acc for each block and returns, one
/// for each lane.
template <class Accumulate>
HWY_INLINE VF sum_blocks_by_lane(int64_t dim, Accumulate accumulate) {
  Block even = zero_block();
  Block odd = zero_block();
  accumulate_blocks(dim, even, odd, [=](Block& acc, int64_t i, size_t count) HWY_ATTR {
    acc = accumulate(acc, i, count);
  });
  return sum_by_lane(even, odd);
}

/// Of all lanes.
template <class Accumulate>
HWY_INLINE float sum_blocks(int64_t dim, Accumulate accumulate) {
  return hn::GetLane(hn::SumOfLanes(DF(), sum_blocks_by_lane(dim, accumulate)));
}

/// Squares by an instruction that takes what is subnormal for zero.
template <class E>
inline constexpr bool kFlushesSquares =
    std::is_same_v<E, NativeBF16> && !std::is_same_v<NativeBF16, BF16>;

/// From here on a sum of squares has lost less than 2^-30 of itself, or of eps beside it, to that.
inline constexpr float kLeastFlushedSum = 0x1p-70f;

/// Sums of the squares of a row, one a lane.
template <class E>
HWY_INLINE VF squares_by_lane(const typename E::Raw* x, int64_t dim) {
  if constexpr (kFlushesSquares<E>) {
    VF even = hn::Zero(DF()), odd = even;
    accumulate_blocks(dim, even, odd, [=](VF& acc, int64_t i, size_t count) HWY_ATTR {
      acc = E::add_squares(read_part<E>(x + i, count), acc);
    });
    return hn::Add(even, odd);
  } else {
    return sum_blocks_by_lane(dim, [=](Block acc, int64_t i, size_t count) HWY_ATTR {
      const Block v = load_part<E>(x + i, count);
      return mul_add(v, v, acc);
    });
  }
}

/// Sum of the squares of a row, to be added to eps once divided.
template <class E>
HWY_INLINE float sum_of_squares(const typename E::Raw* x, int64_t dim, float eps) {
  const float sum = hn::GetLane(hn::SumOfLanes(DF(), squares_by_lane<E>(x, dim)));
  if constexpr (kFlushesSquares<E>) {
    const bool is_exact = sum >= kLeastFlushedSum || eps >= kLeastFlushedSum;
    if (HWY_UNLIKELY(!is_exact)) return sum_of_squares<BF16>(x, dim, eps);
  }
  return sum;
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
