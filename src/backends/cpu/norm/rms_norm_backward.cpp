// SPDX-License-Identifier: MIT
// rms_norm_backward: dx, and the sums over groups of rows that make dw. x and dy come from memory
// once: a pass over each row for its sums, and a second one that finds the row in the cache. Other
// rows are fetched meanwhile, so that memory is read and written all the time: how, depends on the
// processor (Passes).

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/norm/rms_norm_backward.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/highway.h>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/norm/passes.hpp"
#include "backends/cpu/norm/rms_norm_backward_apart-inl.h"
#include "backends/cpu/norm/rms_norm_backward_joined-inl.h"
#include "backends/cpu/simd/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

template <template <class> class Norm>
Result<void> run_rms_norm_backward(const NativeCall& call) {
  with_element(call.view(kRmsNormBackwardX).dtype(),
               [&](auto element) { Norm<decltype(element)>(call).run(call); });
  return {};
}

Result<void> RmsNormBackwardJoinedKernel(const NativeCall& call) {
  return run_rms_norm_backward<RmsNormBackwardJoined>(call);
}

Result<void> RmsNormBackwardApartKernel(const NativeCall& call) {
  if constexpr (may_be_apart(HWY_TARGET)) return run_rms_norm_backward<RmsNormBackwardApart>(call);
  return run_rms_norm_backward<RmsNormBackwardJoined>(call);  // never chosen
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(RmsNormBackwardJoinedKernel);
HWY_EXPORT(RmsNormBackwardApartKernel);

KernelFunction rms_norm_backward(const Processor& processor) {
  return passes_for(processor) == Passes::joined
             ? NORITE_SIMD_SELECT(RmsNormBackwardJoinedKernel, processor.level)
             : NORITE_SIMD_SELECT(RmsNormBackwardApartKernel, processor.level);
}

}  // namespace norite::cpu
#endif
