// SPDX-License-Identifier: MIT
// Gradients of the per-head norm and rotation. The first walk over a group of heads rotates dy back
// to g, keeps it in the first cache, and sums x^2 and g * x * w; the second writes dx and adds to dw.
// x and dy come from memory once.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/rope/fused_head_norm_rope_backward.cpp"
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

template <class E>
class HeadNormRopeBackward {
 public:
  explicit HeadNormRopeBackward(const NativeCall& call)
      : params_(call.constants<HeadNormRopeBackwardParams>(kHeadNormRopeBackwardParams)),
        runs_(make_runs(params_.head_dim, params_.half_rope_dim, params_.pairing)),
        angles_(params_.angles,
                {call.data<void>(kHeadNormRopeBackwardPositions),
                 call.data<float>(kHeadNormRopeBackwardFreqFactors),
                 call.data<float>(kHeadNormRopeBackwardCos),
                 call.data<float>(kHeadNormRopeBackwardSin)},
                params_.half_rope_dim),
        x_(call.data<Raw>(kHeadNormRopeBackwardX)),
        dy_(call.data<Raw>(kHeadNormRopeBackwardDy)),
        dx_(call.data<Raw>(kHeadNormRopeBackwardDx)),
        dw_partial_(call.data<float>(kHeadNormRopeBackwardDwPartial)) {
    expand_head_weight<E>(runs_, call.data<void>(kHeadNormRopeBackwardWeight),
                          call.view(kHeadNormRopeBackwardWeight).dtype(), params_.weight_mode,
                          weight_);
    const int64_t dx_bytes = call.view(kHeadNormRopeBackwardDx).size_bytes();
    const bool stream = dx_bytes >= kStreamBytes && dx_ != dy_;
    write_ = stream && streamable<E>(runs_, dx_, params_.dx)
                 ? &HeadNormRopeBackward::write<Store::streaming>
                 : &HeadNormRopeBackward::write<Store::cached>;
  }

  bool has_dw() const { return dw_partial_ != nullptr; }

  /// Tokens [begin, end), which share one partial sum of dw.
  void run(int64_t begin, int64_t end) const {
    AngleStorage angles;
    Rotation rotation;
    Group group;
    Table dw = {};
    const int64_t most = heads_per_group(params_.head_dim);
    for (int64_t token = begin; token < end; ++token) {
      make_rotation<E>(runs_, angles_.of(token, angles), -1.0f, rotation);
      for (int64_t head = 0; head < params_.heads; head += most) {
        group.heads = std::min(most, params_.heads - head);
        group.x = x_ + token * params_.x.token + head * params_.x.head;
        const Raw* dy = dy_ + token * params_.dy.token + head * params_.dy.head;
        Raw* dx = dx_ ? dx_ + token * params_.dx.token + head * params_.dx.head : nullptr;
        const bool last = head + most >= params_.heads;
        const int64_t nt = last ? std::min(token + 1, end - 1) : token, nh = last ? 0 : head + most;
        group.next_x = x_ + nt * params_.x.token + nh * params_.x.head;
        group.next_dy = dy_ + nt * params_.dy.token + nh * params_.dy.head;
        read(dy, rotation, group);
        (this->*write_)(group, dx, dw);
      }
    }
    hwy::FlushStream();
    if (has_dw()) store_dw(dw, dw_partial_ + begin / params_.tokens_per_partial * params_.head_dim);
  }

 private:
  using Raw = typename E::Raw;

  /// Heads between the two walks: dx = g * r * w - x * shrink, dw += g * r * x.
  struct Group {
    int64_t heads;
    const Raw* x;
    const Raw* next_x;
    const Raw* next_dy;
    HWY_ALIGN float r[kMaxGroup] = {};
    HWY_ALIGN float shrink[kMaxGroup] = {};
    HWY_ALIGN float g[kMaxHeadDim + kMaxGroup * 4 * block()];  // a table for each head
  };

  HWY_NOINLINE void read(const Raw* dy, const Rotation& rotation, Group& group) const {
    for (int64_t head = 0; head < group.heads; ++head) {
      const Raw* x = group.x + head * params_.x.head;
      float* g = group.g + head * runs_.table_size;
      const VF zero = hn::Zero(DF());
      Block squares = {zero, zero}, dots = {zero, zero};
      rotate_heads<E>(
          runs_, rotation, 1,
          [](const Run&, int64_t) HWY_ATTR {
            return Block{hn::Set(DF(), 1.0f), hn::Set(DF(), 1.0f)};
          },
          [=](int64_t, const Run& run, int64_t i, size_t count) HWY_ATTR {
            return load_part<E>(dy + run.begin + i, count);
          },
          [=, this, &squares, &dots](int64_t, const Run& run, int64_t i, size_t count,
                                     Block v) HWY_ATTR {
            const Block xs = load_part<E>(x + run.begin + i, count);
            squares = mul_add(xs, xs, squares);
            dots = mul_add(mul(v, F32::load(weight_.values + run.table + i)), xs, dots);
            F32::store_f32(v, g + run.table + i);
          });
      group.r[head] = hn::GetLane(hn::SumOfLanes(DF(), hn::Add(squares.a, squares.b)));
      group.shrink[head] = hn::GetLane(hn::SumOfLanes(DF(), hn::Add(dots.a, dots.b)));
      dy += params_.dy.head;
    }
    for (int64_t i = 0; i < group.heads; i += static_cast<int64_t>(lanes())) {
      const VF r = rms_inv(hn::Load(DF(), group.r + i), params_.head_dim, params_.eps);
      const VF mean = hn::Div(hn::Load(DF(), group.shrink + i),
                              hn::Set(DF(), static_cast<float>(params_.head_dim)));
      hn::Store(r, DF(), group.r + i);
      hn::Store(hn::Mul(hn::Mul(mean, r), hn::Mul(r, r)), DF(), group.shrink + i);
    }
  }

  template <Store kStore>
  HWY_NOINLINE void write(const Group& group, Raw* dx, Table& dw) const {
    for (const Run& run : runs_.all()) {
      for_blocks(run.count, [&](int64_t i, size_t count) HWY_ATTR {
        const Block w = F32::load(weight_.values + run.table + i);
        Block sums = F32::load(dw.values + run.table + i);
        for (int64_t head = 0; head < group.heads; ++head) {
          prefetch_block(group.next_x + head * params_.x.head + run.begin + i);
          prefetch_block(group.next_dy + head * params_.dy.head + run.begin + i);
          const Block x = load_part<E>(group.x + head * params_.x.head + run.begin + i, count);
          const Block g = F32::load(group.g + head * runs_.table_size + run.table + i);
          const Block gr = mul(g, hn::Set(DF(), group.r[head]));
          sums = mul_add(gr, x, sums);
          if (dx) {
            const VF shrink = hn::Set(DF(), group.shrink[head]);
            store_part<E, kStore>(neg_mul_add(x, {shrink, shrink}, mul(gr, w)),
                                  dx + head * params_.dx.head + run.begin + i, count);
          }
        }
        F32::store_f32(sums, dw.values + run.table + i);
      });
    }
  }

  void store_dw(const Table& dw, float* to) const {
    for (const Run& run : runs_.all()) {
      from_block_order<E>(dw.values + run.table, run.count, to + run.begin);
    }
  }

  const HeadNormRopeBackwardParams& params_;
  const HeadRuns runs_;
  const Angles angles_;
  const Raw* x_;
  const Raw* dy_;
  Raw* dx_;
  float* dw_partial_;
  Table weight_;
  void (HeadNormRopeBackward::*write_)(const Group&, Raw*, Table&) const;
};

template <class E>
Result<void> head_norm_rope_backward_as(const NativeCall& call) {
  const auto& params = call.constants<HeadNormRopeBackwardParams>(kHeadNormRopeBackwardParams);
  const HeadNormRopeBackward<E> kernel(call);
  const int64_t token_bytes =
      params.heads * params.head_dim * static_cast<int64_t>(sizeof(typename E::Raw));
  // With dw, a task is what one partial sum covers.
  const int64_t grain =
      kernel.has_dw() ? params.tokens_per_partial : rows_per_task(token_bytes);
  call.parallel_for(params.tokens, grain,
                    [&](int64_t begin, int64_t end) { kernel.run(begin, end); });
  return {};
}

Result<void> HeadNormRopeBackwardKernel(const NativeCall& call) {
  switch (call.view(kHeadNormRopeBackwardX).dtype()) {
    case DType::f16:
      return head_norm_rope_backward_as<F16>(call);
    case DType::bf16:
      return head_norm_rope_backward_as<BF16>(call);
    default:
      return head_norm_rope_backward_as<F32>(call);
  }
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(HeadNormRopeBackwardKernel);

KernelFunction fused_head_norm_rope_backward(const SimdLevel& level) {
  return NORITE_SIMD_SELECT(HeadNormRopeBackwardKernel, level);
}

}  // namespace norite::cpu
#endif
