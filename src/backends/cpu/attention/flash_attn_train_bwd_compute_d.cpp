// SPDX-License-Identifier: MIT
// d[row] = sum over head_dim of o * d_o, the pre-pass of the attention backward. Only reads matter:
// each row gives a single float.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/flash_attn_train_bwd_compute_d.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include "attention/params.h"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/rows.hpp"
#include "backends/cpu/simd/blocks-inl.h"
#include "backends/cpu/simd/dispatch.hpp"
#include "backends/cpu/simd/sums-inl.h"
#include "backends/cpu/streaming.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

template <class E>
HWY_INLINE float dot_row(const typename E::Raw* o, const typename E::Raw* d_o, int64_t head_dim) {
  return sum_blocks(head_dim, [=](Block acc, int64_t i, size_t count) HWY_ATTR {
    return mul_add(load_part<E>(o + i, count), load_part<E>(d_o + i, count), acc);
  });
}

template <class E>
void compute_d_rows(const NativeCall& call, int64_t begin, int64_t end) {
  using Raw = typename E::Raw;
  const auto& params = call.constants<ComputeDParams>(kComputeDParams);
  const auto* o = call.data<const Raw>(kComputeDO);
  const auto* d_o = call.data<const Raw>(kComputeDDo);
  auto* d = call.data<float>(kComputeDOut);
  for (int64_t row = begin; row < end; ++row) {
    d[row_offset(params.rows, params.d, row)] =
        dot_row<E>(o + row_offset(params.rows, params.o, row),
                   d_o + row_offset(params.rows, params.d_o, row), params.head_dim);
  }
}

template <class E>
Result<void> compute_d_as(const NativeCall& call) {
  const auto& params = call.constants<ComputeDParams>(kComputeDParams);
  const int64_t row_bytes = params.head_dim * static_cast<int64_t>(2 * sizeof(typename E::Raw));
  call.parallel_for(row_count(params.rows), rows_per_task(row_bytes),
                    [&](int64_t begin, int64_t end) { compute_d_rows<E>(call, begin, end); });
  return {};
}

Result<void> ComputeDKernel(const NativeCall& call) {
  return with_element(call.view(kComputeDO).dtype(),
                      [&](auto element) { return compute_d_as<decltype(element)>(call); });
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(ComputeDKernel);

KernelFunction flash_attn_train_bwd_compute_d(const Processor& processor) {
  return NORITE_SIMD_SELECT(ComputeDKernel, processor.level);
}

}  // namespace norite::cpu
#endif
