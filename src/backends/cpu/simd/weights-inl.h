// SPDX-License-Identifier: MIT
// Weights of any dtype and mode as f32 in the block order of the activations. A missing weight
// becomes ones, which multiply exactly, so kernels know a single form.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_WEIGHTS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_WEIGHTS_INL_H
#undef NORITE_CPU_WEIGHTS_INL_H
#else
#define NORITE_CPU_WEIGHTS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "backends/cpu/simd/blocks-inl.h"
#include "backends/cpu/thread_weights.hpp"
#include "norite/dtype.hpp"
#include "norite/native_kernel.hpp"
#include "norm/params.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Floats that `dim` values take in block order: the last block is padded.
HWY_INLINE size_t padded_to_blocks(int64_t dim) {
  return (static_cast<size_t>(dim) + block() - 1) / block() * block();
}

/// Weights stored as W, in the block order of E.
template <class E, class W>
HWY_INLINE void expand_weight_as(const void* weight, float offset, int64_t dim, float* out) {
  const auto* from = static_cast<const typename W::Raw*>(weight);
  const VF added = hn::Set(DF(), offset);
  for_blocks(dim, [=](int64_t i, size_t count) HWY_ATTR {
    Block v = load_part<W>(from + i, count);
    // -0 is the neutral element of addition: it leaves even a weight of -0 as it is.
    v = {hn::Add(v.a, added), hn::Add(v.b, added)};
    if constexpr (E::kEvenOdd != W::kEvenOdd) {  // of another block order
      HWY_ALIGN float staged[block()];
      W::store_f32(v, staged);
      v = E::load_f32(staged);
    }
    F32::store_f32(v, out + i);
  });
}

/// Writes padded_to_blocks(dim) floats to `out`, in the block order of E. The padding is finite: it
/// meets elements that load_part reads as zero. mode: NormWeightMode.
template <class E>
void expand_weight(const void* weight, DType dtype, uint32_t mode, int64_t dim, float* out) {
  if (mode == kWeightNone) {
    std::fill_n(out, padded_to_blocks(dim), 1.0f);
    return;
  }
  const float offset = mode == kWeightOnePlus ? 1.0f : -0.0f;
  with_element(dtype, [&](auto element) {
    expand_weight_as<E, decltype(element)>(weight, offset, dim, out);
  });
}

/// The weights of one call, for activations of E.
template <class E>
class Weights {
 public:
  Weights(const NativeCall& call, size_t position, uint32_t mode, int64_t dim)
      : given_(call.data<void>(position)),
        dtype_(call.view(position).dtype()),
        mode_(mode),
        dim_(dim) {}

  /// For the calling thread, until it asks for those of another call. Throws std::bad_alloc.
  [[nodiscard]] const float* here() const {
    if (is_given_expanded()) return static_cast<const float*>(given_);
    return copies_.here(padded_to_blocks(dim_),
                        [this](float* out) { expand_weight<E>(given_, dtype_, mode_, dim_, out); });
  }

 private:
  [[nodiscard]] bool is_given_expanded() const {
    return !E::kEvenOdd && dtype_ == DType::f32 && mode_ == kWeightPlain &&
           padded_to_blocks(dim_) == static_cast<size_t>(dim_);
  }

  const void* given_;
  DType dtype_;
  uint32_t mode_;
  int64_t dim_;
  ThreadWeights copies_;
};

/// Sums kept in the block order of E, written as dim floats in plain order.
template <class E>
void from_block_order(const float* sums, int64_t dim, float* out) {
  for_blocks(dim, [=](int64_t i, size_t count)
                      HWY_ATTR { store_f32_part<E>(F32::load(sums + i), out + i, count); });
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
