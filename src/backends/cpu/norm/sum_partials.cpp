// SPDX-License-Identifier: MIT
// Adds the partial sums of a gradient, pairwise: the order depends on how many there are and on
// nothing else, and errors grow with the logarithm of their number.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/sum_partials.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/simd/blocks-inl.h"
#include "backends/cpu/simd/dispatch.hpp"
#include "norm/params.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

HWY_INLINE Block add(Block x, Block y) { return {hn::Add(x.a, y.a), hn::Add(x.b, y.b)}; }

/// Sum of `partials` blocks that lie `stride` floats apart.
template <class E>
Block sum_pairwise(const float* first, int64_t partials, int64_t stride, size_t count) {
  if (partials == 1) return load_f32_part<E>(first, count);
  const int64_t half = partials / 2;
  return add(sum_pairwise<E>(first, half, stride, count),
             sum_pairwise<E>(first + half * stride, partials - half, stride, count));
}

template <class E>
void sum_partials_as(const NativeCall& call) {
  const auto& params = call.constants<SumPartialsParams>(kSumPartialsParams);
  const auto* in = call.data<float>(kSumPartialsIn);
  auto* out = call.data<typename E::Raw>(kSumPartialsOut);
  constexpr int64_t kColumnsPerTask = 1024;  // a multiple of every block
  call.parallel_for(params.dim, kColumnsPerTask, [&](int64_t begin, int64_t end) {
    for_blocks(end - begin, [&](int64_t i, size_t count) HWY_ATTR {
      const Block sum = sum_pairwise<E>(in + begin + i, params.partials, params.dim, count);
      store_part<E>(sum, out + begin + i, count);
    });
  });
}

Result<void> SumPartialsKernel(const NativeCall& call) {
  with_element(call.view(kSumPartialsOut).dtype(),
               [&](auto element) { sum_partials_as<decltype(element)>(call); });
  return {};
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(SumPartialsKernel);

KernelFunction sum_partials(const Processor& processor) {
  return NORITE_SIMD_SELECT(SumPartialsKernel, processor.level);
}

}  // namespace norite::cpu
#endif
