// SPDX-License-Identifier: MIT
// Gradients of the per-head norm and rotation. The first walk over a group of heads rotates dy back
// to g, keeps it in the first cache, and sums x^2 and g * w * x; the second writes dx and adds to
// dw. x and dy come from memory once. Common sizes have code of their own.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/rope/fused_head_norm_rope_backward.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "backends/cpu/kernels.hpp"
#include "backends/cpu/rope/whole_heads_backward-inl.h"
#include "backends/cpu/simd/dispatch.hpp"
#include "backends/cpu/streaming.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Neighbouring heads of one token between the two walks:
///   dx = g * r * w - x * shrink, dw += g * r * x
template <class E>
struct HeadGradients {
  const typename E::Raw *x, *dy;
  typename E::Raw* dx;                        // nullptr when absent
  const typename E::Raw *later_x, *later_dy;  // of a token to come, prefetched meanwhile
  int64_t heads;
  HWY_ALIGN float r[kMaxGroup];
  HWY_ALIGN float shrink[kMaxGroup];
  HWY_ALIGN float g[table_floats(kMaxHeadDim, kMaxGroup)];  // a table for each head
};

template <class E>
class HeadNormRopeBackward {
 public:
  explicit HeadNormRopeBackward(const NativeCall& call)
      : params_(call.constants<HeadNormRopeBackwardParams>(kHeadNormRopeBackwardParams)),
        runs_(make_runs(params_.head_dim, params_.half_rope_dim, params_.pairing)),
        angles_(params_.angles,
                {.positions = call.data<void>(kHeadNormRopeBackwardPositions),
                 .freq_factors = call.data<float>(kHeadNormRopeBackwardFreqFactors),
                 .cos = call.data<float>(kHeadNormRopeBackwardCos),
                 .sin = call.data<float>(kHeadNormRopeBackwardSin)},
                params_.half_rope_dim),
        x_(call.data<Raw>(kHeadNormRopeBackwardX)),
        dy_(call.data<Raw>(kHeadNormRopeBackwardDy)),
        dx_(call.data<Raw>(kHeadNormRopeBackwardDx)),
        dw_partial_(call.data<float>(kHeadNormRopeBackwardDwPartial)),
        streaming_(call.view(kHeadNormRopeBackwardDx).size_bytes() >= kStreamBytes && dx_ != dy_ &&
                   is_streamable<E>(runs_, dx_, params_.dx)) {
    expand_head_weight<E>(runs_, call.data<void>(kHeadNormRopeBackwardWeight),
                          call.view(kHeadNormRopeBackwardWeight).dtype(), params_.weight_mode,
                          weight_);
    add_tokens_ = find_add_tokens();
  }

  void run(const NativeCall& call) const {
    const int64_t token_bytes = params_.heads * head_bytes();
    // With dw, a task is what one partial sum covers.
    const int64_t grain = dw_partial_ ? params_.tokens_per_partial : rows_per_task(token_bytes);
    call.parallel_for(params_.tokens, grain,
                      [this](int64_t begin, int64_t end) { run_tokens(begin, end); });
  }

 private:
  using Raw = typename E::Raw;
  using Group = HeadGradients<E>;

  int64_t head_bytes() const { return params_.head_dim * static_cast<int64_t>(sizeof(Raw)); }

  template <class T>
  static T* at(T* first, const HeadStrides& strides, int64_t token, int64_t head) {
    return first ? first + token * strides.token + head * strides.head : nullptr;
  }

  void run_tokens(int64_t begin, int64_t end) const {
    Table dw;
    std::fill_n(dw.values, runs_.table_size, 0.0f);
    (this->*add_tokens_)(begin, end, dw);
    hwy::FlushStream();
    if (dw_partial_) store_dw(dw, begin / params_.tokens_per_partial);
  }

  using AddTokens = void (HeadNormRopeBackward::*)(int64_t begin, int64_t end, Table& dw) const;

  AddTokens find_add_tokens() const {
    if (!runs_.whole || runs_.interleaved) return &HeadNormRopeBackward::add_any_heads;
    switch (params_.head_dim) {
      case 64:
        return find_add_whole_heads<64>();
      case 128:
        return find_add_whole_heads<128>();
      case 256:
        return find_add_whole_heads<256>();
      default:
        return &HeadNormRopeBackward::add_any_heads;
    }
  }

  template <int64_t kDim>
  AddTokens find_add_whole_heads() const {
    return are_weights_divided_out() ? &HeadNormRopeBackward::add_whole_heads<kDim, true>
                                     : &HeadNormRopeBackward::add_whole_heads<kDim, false>;
  }

  /// Sums that the weights took out of range need dy again, which dx in place has overwritten. To
  /// look through it beforehand takes as many operations as dividing saves.
  bool are_weights_divided_out() const {
    const bool can_repeat = dx_ != dy_ || dw_partial_ == nullptr || kHasRoomForWeights<E>;
    return can_repeat && are_divisible(weight_, params_.head_dim);
  }

  template <int64_t kDim, bool kDivides>
  void add_whole_heads(int64_t begin, int64_t end, Table& dw) const {
    WeightedRotation by;
    WholeHeads<E, kDim, kDivides> group(weight_);
    for (int64_t token = begin; token < end; ++token) {
      weigh<E, kDivides>(runs_, angles_, token, weight_, by);
      for (int64_t head = 0; head < params_.heads; head += group.kMost) {
        const int64_t count = std::min(group.kMost, params_.heads - head);
        const int64_t later = later_than(token);
        const HeadOperands<E> heads = {{at(x_, params_.x, token, head), params_.x.head, count},
                                       {at(dy_, params_.dy, token, head), params_.dy.head, count},
                                       at(dx_, params_.dx, token, head),
                                       params_.dx.head,
                                       at(x_, params_.x, later, head),
                                       at(dy_, params_.dy, later, head)};
        group.read(heads, by, params_.eps);
        streaming_ ? group.template write<kStreaming>(heads, dw)
                   : group.template write<Store::cached>(heads, dw);
      }
    }
    if (!kDivides || dw_partial_ == nullptr) return;
    constexpr float kLeastR = 0x1p-20f;  // elements of x then stay below sqrt(kDim) * 2^20
    const bool in_range = divide_out(weight_, kDim, dw) && group.least_r() >= kLeastR;
    if (in_range || dx_ == dy_) return;
    std::fill_n(dw.values, runs_.table_size, 0.0f);
    add_heads(begin, end, nullptr, dw);
  }

  int64_t later_than(int64_t token) const {
    return std::min(token + rows_ahead(params_.heads * head_bytes()), params_.tokens - 1);
  }

  void add_any_heads(int64_t begin, int64_t end, Table& dw) const {
    add_heads(begin, end, dx_, dw);
  }

  void add_heads(int64_t begin, int64_t end, Raw* dx, Table& dw) const {
    const int64_t most = heads_per_group<E>(params_.head_dim);
    AngleStorage angles;
    Rotation rotation;
    Group group;
    for (int64_t token = begin; token < end; ++token) {
      make_rotation<E>(runs_, angles_.of(token, angles), -1.0f, rotation);
      for (int64_t head = 0; head < params_.heads; head += most) {
        select(group, token, head, std::min(most, params_.heads - head));
        group.dx = at(dx, params_.dx, token, head);
        read(group, rotation);
        streaming_ ? write<kStreaming>(group, dw) : write<Store::cached>(group, dw);
      }
    }
  }

  void select(Group& group, int64_t token, int64_t head, int64_t heads) const {
    group.x = at(x_, params_.x, token, head);
    group.dy = at(dy_, params_.dy, token, head);
    const int64_t later = later_than(token);
    group.later_x = at(x_, params_.x, later, head);
    group.later_dy = at(dy_, params_.dy, later, head);
    group.heads = heads;
  }

  HWY_NOINLINE void read(Group& group, const Rotation& rotation) const {
    constexpr int64_t kLanes = static_cast<int64_t>(lanes());
    for (int64_t head = 0; head < group.heads; head += kLanes) {
      const Heads<Raw> x = {group.x + head * params_.x.head, params_.x.head,
                            std::min(kLanes, group.heads - head)};
      VF squares[kLanes], dots[kLanes];
      for (int64_t i = 0; i < x.count; ++i) {
        read_head(group, head + i, rotation, squares[i], dots[i]);
      }
      store_factors<E>(x, squares, dots, params_.head_dim, params_.eps, group.r + head,
                       group.shrink + head);
    }
  }

  /// Sums of x^2 and g * w * x over one head, by lane.
  HWY_INLINE void read_head(Group& group, int64_t head, const Rotation& rotation, VF& squares_to,
                            VF& dots_to) const {
    const Raw* x = group.x + head * params_.x.head;
    const Raw* dy = group.dy + head * params_.dy.head;
    float* g = group.g + head * runs_.table_size;
    const float* weight = weight_.values;
    Block squares = zero_block(), dots = zero_block();
    rotate_heads<E>(
        runs_, rotation, 1,
        [](const Run&, int64_t)
            HWY_ATTR { return Block{hn::Set(DF(), 1.0f), hn::Set(DF(), 1.0f)}; },
        [=](int64_t, const Run& run, int64_t i, size_t count)
            HWY_ATTR { return load_part<E>(dy + run.begin + i, count); },
        [=, &squares, &dots](int64_t, const Run& run, int64_t i, size_t count, Block v) HWY_ATTR {
          const auto bits = read_part<E>(x + run.begin + i, count);
          const Block xs = E::unpack(bits);
          if constexpr (kFlushesSquares<E>) {
            squares.a = E::add_squares(bits, squares.a);
          } else {
            squares = mul_add(xs, xs, squares);
          }
          dots = mul_add(mul(v, F32::load(weight + run.table + i)), xs, dots);
          F32::store_f32(v, g + run.table + i);
        });
    squares_to = hn::Add(squares.a, squares.b);
    dots_to = hn::Add(dots.a, dots.b);
  }

  template <Store kStore>
  HWY_NOINLINE void write(const Group& group, Table& dw) const {
    Prefetcher<kStore, Raw> later_x(group.later_x), later_dy(group.later_dy);
    // What is read through a reference has to be read again after every store.
    const int64_t heads = group.heads, x_step = params_.x.head, dx_step = params_.dx.head;
    const int64_t g_step = runs_.table_size;
    for (const Run& run : runs_.all()) {
      for_blocks(run.count, [&](int64_t i, size_t count) HWY_ATTR {
        const Block w = F32::load(weight_.values + run.table + i);
        Block sums = F32::load(dw.values + run.table + i);
        const Raw* x_at = group.x + run.begin + i;
        const float* g_at = group.g + run.table + i;
        Raw* dx_at = group.dx ? group.dx + run.begin + i : nullptr;
        for (int64_t head = 0; head < heads; ++head, x_at += x_step, g_at += g_step) {
          later_x.next_block();
          later_dy.next_block();
          const Block x = load_part<E>(x_at, count);
          const Block gr = mul(F32::load(g_at), hn::Set(DF(), group.r[head]));
          sums = mul_add(gr, x, sums);
          if (dx_at) {
            const VF shrink = hn::Set(DF(), group.shrink[head]);
            store_part<E, kStore>(neg_mul_add(x, {shrink, shrink}, mul(gr, w)), dx_at, count);
            dx_at += dx_step;
          }
        }
        F32::store_f32(sums, dw.values + run.table + i);
      });
    }
  }

  void store_dw(const Table& dw, int64_t partial) const {
    float* to = dw_partial_ + partial * params_.head_dim;
    for (const Run& run : runs_.all()) {
      from_block_order<E>(dw.values + run.table, run.count, to + run.begin);
    }
  }

  const HeadNormRopeBackwardParams& params_;
  const HeadRuns runs_;
  const Angles angles_;
  const Raw *x_, *dy_;
  Raw* dx_;
  float* dw_partial_;
  const bool streaming_;
  Table weight_;
  AddTokens add_tokens_;
};

template <class B>
Result<void> head_norm_rope_backward(const NativeCall& call) {
  with_element<B>(call.view(kHeadNormRopeBackwardX).dtype(),
                  [&](auto element) { HeadNormRopeBackward<decltype(element)>(call).run(call); });
  return {};
}

Result<void> HeadNormRopeBackwardKernel(const NativeCall& call) {
  return head_norm_rope_backward<BF16>(call);
}
Result<void> HeadNormRopeBackwardBF16Kernel(const NativeCall& call) {
  return head_norm_rope_backward<NativeBF16>(call);
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(HeadNormRopeBackwardKernel);
HWY_EXPORT(HeadNormRopeBackwardBF16Kernel);

KernelFunction fused_head_norm_rope_backward(const Processor& processor) {
  return NORITE_SIMD_SELECT_BF16(HeadNormRopeBackwardKernel, HeadNormRopeBackwardBF16Kernel,
                                 processor.level);
}

}  // namespace norite::cpu
#endif
