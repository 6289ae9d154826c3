// SPDX-License-Identifier: MIT
// Per-head RMS norm and rotation. A head is read twice: once for its sum of squares and, by then in
// the first cache, once more to be scaled, rotated and written. Angles are computed once a token.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/rope/fused_head_norm_rope.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cmath>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/streaming.hpp"
#include "backends/cpu/rope/heads-inl.h"
#include "backends/cpu/simd/dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// A block in the order of O.
template <class E, class O>
HWY_INLINE Block reorder(Block v) {
  if constexpr (std::is_same_v<E, BF16> == std::is_same_v<O, BF16>) return v;
  HWY_ALIGN float staged[block()];
  E::store_f32(v, staged);
  return O::load_f32(staged);
}

/// Neighbouring heads of one token, their norms' scales, and what they are multiplied with.
template <class E>
struct HeadGroup {
  const HeadRuns& runs;
  const Rotation& rotation;
  const Table& weight;
  const typename E::Raw* x;
  const typename E::Raw* next;  // the group to prefetch
  int64_t head_stride;          // of x
  int64_t heads;
  const float* scales;
};

/// Writes x * scale * weight, rotated, as elements of type O.
template <class E, class O, Store kStore>
HWY_NOINLINE void write_heads(const HeadGroup<E>& group, void* to, int64_t head_stride) {
  auto* y = static_cast<typename O::Raw*>(to);
  const auto* x = group.x;
  const float* weight = group.weight.values;
  rotate_heads<E>(
      group.runs, group.rotation, group.heads,
      [=](const Run& run, int64_t i) HWY_ATTR { return F32::load(weight + run.table + i); },
      [=, &group](int64_t head, const Run& run, int64_t i, size_t count) HWY_ATTR {
        const int64_t offset = head * group.head_stride + run.begin + i;
        prefetch_block(group.next + offset);
        const Block v = load_part<E>(x + offset, count);
        return mul(v, hn::Set(DF(), group.scales[head]));
      },
      [=](int64_t head, const Run& run, int64_t i, size_t count, Block v) HWY_ATTR {
        store_part<O, kStore>(reorder<E, O>(v), y + head * head_stride + run.begin + i, count);
      });
}

/// One of the outputs, and the function that writes heads to it.
template <class E>
struct HeadOutput {
  std::byte* first = nullptr;
  int64_t element_bytes = 0;
  HeadStrides strides = {};
  void (*write)(const HeadGroup<E>& group, void* to, int64_t head_stride) = nullptr;

  void put(const HeadGroup<E>& group, int64_t token, int64_t head) const {
    const int64_t offset = token * strides.token + head * strides.head;
    write(group, first + offset * element_bytes, strides.head);
  }
};

template <class E, class O>
HeadOutput<E> make_output_as(const HeadRuns& runs, std::byte* first, const HeadStrides& strides,
                             bool stream) {
  const bool streaming = stream && streamable<O>(runs, first, strides);
  return {first, sizeof(typename O::Raw), strides,
          streaming ? write_heads<E, O, Store::streaming> : write_heads<E, O, Store::cached>};
}

template <class E>
HeadOutput<E> make_output(const HeadRuns& runs, const View& view, const HeadStrides& strides,
                          bool stream) {
  switch (view.dtype()) {
    case DType::f16:
      return make_output_as<E, F16>(runs, view.host_data(), strides, stream);
    case DType::bf16:
      return make_output_as<E, BF16>(runs, view.host_data(), strides, stream);
    default:
      return make_output_as<E, F32>(runs, view.host_data(), strides, stream);
  }
}

template <class E>
class HeadNormRope {
 public:
  explicit HeadNormRope(const NativeCall& call)
      : params_(call.constants<HeadNormRopeParams>(kHeadNormRopeParams)),
        runs_(make_runs(params_.head_dim, params_.half_rope_dim, params_.pairing)),
        angles_(params_.angles,
                {call.data<void>(kHeadNormRopePositions),
                 call.data<float>(kHeadNormRopeFreqFactors), call.data<float>(kHeadNormRopeCos),
                 call.data<float>(kHeadNormRopeSin)},
                params_.half_rope_dim),
        x_(call.data<typename E::Raw>(kHeadNormRopeX)) {
    expand_head_weight<E>(runs_, call.data<void>(kHeadNormRopeWeight),
                          call.view(kHeadNormRopeWeight).dtype(), params_.weight_mode, weight_);
    const View& y = call.view(kHeadNormRopeY);
    const View& copy = call.view(kHeadNormRopeCopy);
    const bool in_place = call.data<typename E::Raw>(kHeadNormRopeY) == x_;
    y_ = make_output<E>(runs_, y, params_.y, y.size_bytes() >= kStreamBytes && !in_place);
    if (copy) copy_ = make_output<E>(runs_, copy, params_.copy, copy.size_bytes() >= kStreamBytes);
  }

  void run(int64_t begin, int64_t end) const {
    AngleStorage angles;
    Rotation rotation;
    const float sign = params_.angles.negate != 0 ? -1.0f : 1.0f;
    for (int64_t token = begin; token < end; ++token) {
      make_rotation<E>(runs_, angles_.of(token, angles), sign, rotation);
      const int64_t group = heads_per_group(params_.head_dim);
      for (int64_t head = 0; head < params_.heads; head += group) {
        const bool last = head + group >= params_.heads;
        const Raw* next = x_ + (last ? std::min(token + 1, end - 1) * params_.x.token
                                     : token * params_.x.token + (head + group) * params_.x.head);
        run_group(token, head, std::min(group, params_.heads - head), next, rotation);
      }
    }
    hwy::FlushStream();
  }

 private:
  using Raw = typename E::Raw;

  void run_group(int64_t token, int64_t head, int64_t heads, const Raw* next, const Rotation& rotation) const {
    const Raw* x = x_ + token * params_.x.token + head * params_.x.head;
    HWY_ALIGN float scales[kMaxGroup];
    make_scales(x, heads, scales);
    const HeadGroup<E> group = {runs_, rotation, weight_, x, next, params_.x.head, heads, scales};
    if (copy_.first != nullptr) copy_.put(group, token, head);
    y_.put(group, token, head);  // last, for it may overwrite x
  }

  HWY_NOINLINE void make_scales(const Raw* x, int64_t heads, float* scales) const {
    std::fill_n(scales, kMaxGroup, 1.0f);
    if (params_.normalise == 0) return;
    for (int64_t head = 0; head < heads; ++head, x += params_.x.head) {
      scales[head] = sum_blocks(params_.head_dim, [=](Block acc, int64_t i, size_t n) HWY_ATTR {
        const Block v = load_part<E>(x + i, n);
        return mul_add(v, v, acc);
      });
    }
    for (float* at = scales; at < scales + heads; at += lanes()) {
      hn::Store(rms_inv(hn::Load(DF(), at), params_.head_dim, params_.eps), DF(), at);
    }
  }

  const HeadNormRopeParams& params_;
  const HeadRuns runs_;
  const Angles angles_;
  const Raw* x_;
  Table weight_;
  HeadOutput<E> y_, copy_;
};

template <class E>
Result<void> head_norm_rope_as(const NativeCall& call) {
  const auto& params = call.constants<HeadNormRopeParams>(kHeadNormRopeParams);
  const HeadNormRope<E> kernel(call);
  const int64_t token_bytes =
      params.heads * params.head_dim * static_cast<int64_t>(sizeof(typename E::Raw));
  call.parallel_for(params.tokens, rows_per_task(token_bytes),
                    [&](int64_t begin, int64_t end) { kernel.run(begin, end); });
  return {};
}

Result<void> HeadNormRopeKernel(const NativeCall& call) {
  switch (call.view(kHeadNormRopeX).dtype()) {
    case DType::f16:
      return head_norm_rope_as<F16>(call);
    case DType::bf16:
      return head_norm_rope_as<BF16>(call);
    default:
      return head_norm_rope_as<F32>(call);
  }
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(HeadNormRopeKernel);

KernelFunction fused_head_norm_rope(const SimdLevel& level) {
  return NORITE_SIMD_SELECT(HeadNormRopeKernel, level);
}

}  // namespace norite::cpu
#endif
