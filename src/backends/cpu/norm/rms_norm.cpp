// SPDX-License-Identifier: MIT
// rms_norm, rms_norm_mul and residual_rms_norm. Each row is read twice: once for its sum of squares
// and, by then in the cache, once more to be scaled and written. Other rows are fetched meanwhile,
// so that memory is read and written all the time: how, depends on the processor (Passes).

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/rms_norm.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/norm/passes.hpp"
#include "backends/cpu/norm/rms_norm_apart-inl.h"
#include "backends/cpu/norm/rms_norm_joined-inl.h"
#include "backends/cpu/simd/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

template <template <class> class Norm>
Result<void> run_rms_norm(const NativeCall& call) {
  with_element(call.view(kRmsNormX).dtype(),
               [&](auto element) { Norm<decltype(element)>(call).run(call); });
  return {};
}

Result<void> RmsNormJoinedKernel(const NativeCall& call) {
  return run_rms_norm<RmsNormJoined>(call);
}

Result<void> RmsNormApartKernel(const NativeCall& call) {
  if constexpr (may_be_apart(HWY_TARGET)) return run_rms_norm<RmsNormApart>(call);
  return run_rms_norm<RmsNormJoined>(call);  // never chosen
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(RmsNormJoinedKernel);
HWY_EXPORT(RmsNormApartKernel);

KernelFunction rms_norm(const Processor& processor) {
  return passes_for(processor) == Passes::joined
             ? NORITE_SIMD_SELECT(RmsNormJoinedKernel, processor.level)
             : NORITE_SIMD_SELECT(RmsNormApartKernel, processor.level);
}

}  // namespace norite::cpu
#endif
