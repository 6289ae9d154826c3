// SPDX-License-Identifier: MIT
// Per-head RMS norm and rotation. A group of heads is read twice: once for its sums of squares and,
// by then in the first cache, once more to be scaled, rotated and written. Angles are computed once
// a token.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/rope/fused_head_norm_rope.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/rope/head_stream-inl.h"
#include "backends/cpu/simd/dispatch.hpp"
#include "backends/cpu/streaming.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Neighbouring heads of one token, and what multiplies them.
template <class E>
struct HeadGroup {
  const HeadRuns& runs;
  const Rotation& rotation;
  const Table& weight;
  const float* scales;  // of each head
  const typename E::Raw* x;
  const typename E::Raw* later;  // heads of a token to come, to prefetch, or nullptr
  int64_t head_stride;
  int64_t heads;
};

/// A block in the order of O.
template <class E, class O>
HWY_INLINE Block reorder(Block v) {
  if constexpr (E::kEvenOdd == O::kEvenOdd) return v;
  HWY_ALIGN float staged[block()];
  E::store_f32(v, staged);
  return O::load_f32(staged);
}

/// Writes x * scale * weight, rotated, as elements of type O.
template <class E, class O, Store kStore>
HWY_NOINLINE void write_heads(const HeadGroup<E>& group, void* to, int64_t head_stride) {
  auto* y = static_cast<typename O::Raw*>(to);
  Prefetcher<kStore, typename E::Raw> later(group.later);
  rotate_heads<E>(
      group.runs, group.rotation, group.heads,
      [&](const Run& run, int64_t i)
          HWY_ATTR { return F32::load(group.weight.values + run.table + i); },
      [&](int64_t head, const Run& run, int64_t i, size_t count) HWY_ATTR {
        later.next_block();
        const auto* x = group.x + head * group.head_stride + run.begin + i;
        return mul(load_part<E>(x, count), hn::Set(DF(), group.scales[head]));
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
  bool streaming = false;
  void (*write)(const HeadGroup<E>& group, void* to, int64_t head_stride) = nullptr;

  void put(const HeadGroup<E>& group, int64_t token, int64_t head) const {
    const int64_t offset = token * strides.token + head * strides.head;
    write(group, first + offset * element_bytes, strides.head);
  }
};

template <class E, class O>
HeadOutput<E> make_output_as(const HeadRuns& runs, const View& view, const HeadStrides& strides,
                             bool in_place) {
  std::byte* first = view.host_data();
  const bool streaming =
      view.size_bytes() >= kStreamBytes && !in_place && is_streamable<O>(runs, first, strides);
  return {first, sizeof(typename O::Raw), strides, streaming,
          streaming ? write_heads<E, O, kStreaming> : write_heads<E, O, Store::cached>};
}

template <class E>
HeadOutput<E> make_output(const HeadRuns& runs, const View& view, const HeadStrides& strides,
                          bool in_place) {
  if (!view) return {};
  return with_element<std::conditional_t<E::kEvenOdd, E, BF16>>(view.dtype(), [&](auto element) {
    return make_output_as<E, decltype(element)>(runs, view, strides, in_place);
  });
}

template <class E>
class HeadNormRope {
 public:
  explicit HeadNormRope(const NativeCall& call)
      : params_(call.constants<HeadNormRopeParams>(kHeadNormRopeParams)),
        runs_(make_runs(params_.head_dim, params_.half_rope_dim, params_.pairing)),
        angles_(params_.angles,
                {.positions = call.data<void>(kHeadNormRopePositions),
                 .freq_factors = call.data<float>(kHeadNormRopeFreqFactors),
                 .cos = call.data<float>(kHeadNormRopeCos),
                 .sin = call.data<float>(kHeadNormRopeSin)},
                params_.half_rope_dim),
        x_(call.data<Raw>(kHeadNormRopeX)),
        y_(make_output<E>(runs_, call.view(kHeadNormRopeY), params_.y,
                          call.data<Raw>(kHeadNormRopeY) == x_)),
        copy_(make_output<E>(runs_, call.view(kHeadNormRopeCopy), params_.copy, false)),
        from_memory_(call.view(kHeadNormRopeY).size_bytes() >= kStreamBytes),
        memory_bound_(params_.normalise == 0 && std::is_same_v<E, F32> && from_memory_) {
    expand_head_weight<E>(runs_, call.data<void>(kHeadNormRopeWeight),
                          call.view(kHeadNormRopeWeight).dtype(), params_.weight_mode, weight_);
  }

  void run(const NativeCall& call) const {
    call.parallel_for(params_.tokens, rows_per_task(token_bytes_),
                      [this](int64_t begin, int64_t end) { run_tokens(begin, end); });
  }

 private:
  using Raw = typename E::Raw;

  void run_tokens(int64_t begin, int64_t end) const {
    if (copy_.write == nullptr && stream_heads(as_stream(), begin, end)) return;
    const float sign = params_.angles.negate != 0 ? -1.0f : 1.0f;
    // A group shares square roots, divisions and loads of the angles. Where memory alone is the
    // limit, heads go one by one, in its order.
    const int64_t most = memory_bound_ ? 1 : heads_per_group<E>(params_.head_dim);
    AngleStorage angles;
    Rotation rotation;
    for (int64_t token = begin; token < end; ++token) {
      make_rotation<E>(runs_, angles_.of(token, angles), sign, rotation);
      for (int64_t head = 0; head < params_.heads; head += most) {
        run_group(token, head, std::min(most, params_.heads - head), rotation);
      }
    }
    hwy::FlushStream();
  }

  HeadStream<E> as_stream() const {
    return {params_,      runs_,
            angles_,      weight_,
            x_,           reinterpret_cast<Raw*>(y_.first),
            y_.streaming, from_memory_ ? rows_ahead(token_bytes_) : 0};
  }

  void run_group(int64_t token, int64_t head, int64_t heads, const Rotation& rotation) const {
    const Raw* x = x_ + token * params_.x.token + head * params_.x.head;
    const int64_t later_token = std::min(token + rows_ahead(token_bytes_), params_.tokens - 1);
    const Raw* later =
        from_memory_ ? x_ + later_token * params_.x.token + head * params_.x.head : nullptr;
    HWY_ALIGN float scales[kMaxGroup];
    make_scales(x, heads, scales);
    const HeadGroup<E> group = {runs_, rotation, weight_, scales, x, later, params_.x.head, heads};
    if (copy_.write != nullptr) copy_.put(group, token, head);
    y_.put(group, token, head);  // last, for it may overwrite x
  }

  HWY_NOINLINE void make_scales(const Raw* x, int64_t heads, float* scales) const {
    constexpr int64_t kLanes = static_cast<int64_t>(lanes());
    if (params_.normalise == 0) {
      std::fill_n(scales, heads, 1.0f);
      return;
    }
    for (int64_t head = 0; head < heads; head += kLanes) {
      VF sums = hn::Zero(DF());
      for (int64_t i = 0; i < std::min(kLanes, heads - head); ++i, x += params_.x.head) {
        sums = with_lane(sums, i, sum_of_squares<E>(x, params_.head_dim, params_.eps));
      }
      hn::Store(rms_inv(sums, params_.head_dim, params_.eps), DF(), scales + head);
    }
  }

  const HeadNormRopeParams& params_;
  const HeadRuns runs_;
  const Angles angles_;
  const Raw* x_;
  const HeadOutput<E> y_, copy_;
  const bool from_memory_, memory_bound_;
  const int64_t token_bytes_ = params_.heads * params_.head_dim * static_cast<int64_t>(sizeof(Raw));
  Table weight_;
};

template <class B>
Result<void> head_norm_rope(const NativeCall& call) {
  with_element<B>(call.view(kHeadNormRopeX).dtype(),
                  [&](auto element) { HeadNormRope<decltype(element)>(call).run(call); });
  return {};
}

Result<void> HeadNormRopeKernel(const NativeCall& call) { return head_norm_rope<BF16>(call); }
Result<void> HeadNormRopeBF16Kernel(const NativeCall& call) {
  return head_norm_rope<NativeBF16>(call);
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(HeadNormRopeKernel);
HWY_EXPORT(HeadNormRopeBF16Kernel);

KernelFunction fused_head_norm_rope(const Processor& processor) {
  return NORITE_SIMD_SELECT_BF16(HeadNormRopeKernel, HeadNormRopeBF16Kernel, processor.level);
}

}  // namespace norite::cpu
#endif
