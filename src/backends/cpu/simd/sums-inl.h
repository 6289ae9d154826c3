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

#include "backends/cpu/simd/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

HWY_INLINE Block zero_block() { return {hn::Zero(DF()), hn::Zero(DF())}; }

/// acc + x * y, element by element.
HWY_INLINE Block mul_add(Block x, Block y, Block acc) {
  return {hn::MulAdd(x.a, y.a, acc.a), hn::MulAdd(x.b, y.b, acc.b)};
}

/// All elements of two blocks.
HWY_INLINE float sum_of(Block even, Block odd) {
  const VF sum = hn::Add(hn::Add(even.a, odd.a), hn::Add(even.b, odd.b));
  return hn::GetLane(hn::SumOfLanes(DF(), sum));
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
    Sums last = odd;  // odd itself stays in registers, whether this call is inlined or not
    accumulate(last, i, static_cast<size_t>(dim - i));
    odd = last;
  }
}

/// Sum over [0, dim) of what accumulate(acc, i, count) adds to acc for each block and returns.
template <class Accumulate>
HWY_INLINE float sum_blocks(int64_t dim, Accumulate accumulate) {
  Block even = zero_block();
  Block odd = zero_block();
  accumulate_blocks(dim, even, odd, [=](Block& acc, int64_t i, size_t count) HWY_ATTR {
    acc = accumulate(acc, i, count);
  });
  return sum_of(even, odd);
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
