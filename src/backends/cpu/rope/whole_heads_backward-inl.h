// SPDX-License-Identifier: MIT
// Gradients of heads of a common size, all of whose elements rotate with the other half of their
// head. dy is rotated back and multiplied by the weights in one go; what is summed for dw has a
// factor w too many, which is divided out once, in the end. That takes a quarter of the products
// away, and products are the limit of 16-bit heads; f32 ones take the same way. Sums that leave the
// range of floats because of that factor show in the end, and are then made again without it. Where
// a weight cannot be divided by, all products are made. The benchmark's weights have such a one for
// 65536x16x128 in bf16: 34 ms on one thread, 39 to 40 by the code for heads of any size
// (norite bench --threads 1 --filter 'fused_head_norm_rope_backward[bf16').
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_WHOLE_HEADS_BACKWARD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_WHOLE_HEADS_BACKWARD_INL_H
#undef NORITE_CPU_WHOLE_HEADS_BACKWARD_INL_H
#else
#define NORITE_CPU_WHOLE_HEADS_BACKWARD_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "backends/cpu/rope/weighted_rotation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Neighbouring heads of one token.
template <class E>
struct HeadOperands {
  Heads<typename E::Raw> x, dy;
  typename E::Raw* dx;  // nullptr when absent
  int64_t dx_stride;
  const typename E::Raw *later_x, *later_dy;  // of a token to come, prefetched meanwhile
};

/// Whether products with any weight that can be divided out stay among the normal floats, whatever
/// the heads hold: f16 ends 100 binary orders before f32 does, on either side.
template <class E>
inline constexpr bool kHasRoomForWeights = std::is_same_v<E, F16>;

/// Whether weights can be divided out again: none is zero, or so far from 1 that products with it
/// would often leave the range of floats where gradients do not.
inline bool are_divisible(const Table& weight, int64_t count) {
  return std::all_of(weight.values, weight.values + count, [](float w) {
    const float magnitude = std::abs(w);
    return magnitude >= 0x1p-10f && magnitude <= 0x1p10f;
  });
}

/// g = dy rotated back, times the weights where kDivides; then with sums over a head
///   dx = g [* w] * r - x * shrink, dw [* w] += g * r * x
template <class E, int64_t kDim, bool kDivides>
class WholeHeads {
 public:
  static constexpr int64_t kMost = heads_per_group<E>(kDim);

  explicit WholeHeads(const Table& weight) : weight_(weight.values) {}

  HWY_NOINLINE void read(const HeadOperands<E>& heads, const WeightedRotation& by, float eps) {
    constexpr int64_t kLanes = static_cast<int64_t>(lanes());
    for (int64_t head = 0; head < heads.x.count; head += kLanes) {
      const Heads<Raw> x = {heads.x.head(head), heads.x.stride,
                            std::min(kLanes, heads.x.count - head)};
      VF squares[kLanes], dots[kLanes];
      for (int64_t i = 0; i < x.count; ++i) {
        read_head(heads.x.head(head + i), heads.dy.head(head + i), by, head + i, squares[i],
                  dots[i]);
      }
      store_factors<E>(x, squares, dots, kDim, eps, r_ + head, shrink_ + head);
      least_r_ = std::min(least_r_, *std::min_element(r_ + head, r_ + head + x.count));
    }
  }

  /// Of all heads read so far: the larger a head's elements, the smaller is its r.
  [[nodiscard]] float least_r() const { return least_r_; }

  /// x is unpacked again: f16 kept as floats would cost more, for stores hold multiply-adds up.
  template <Store kStore>
  HWY_NOINLINE void write(const HeadOperands<E>& heads, Table& dw) const {
    Prefetcher<kStore, Raw> later_x(heads.later_x), later_dy(heads.later_dy);
    // What is read through a reference has to be read again after every store.
    const Heads<Raw> x = heads.x;
    const int64_t dx_stride = heads.dx_stride;
    for (int64_t column = 0; column < kDim; column += kColumns) {
      Block sums[kColumns / kBlock];
      for (int64_t i = 0; i < kColumns; i += kBlock) {
        sums[i / kBlock] = F32::load(dw.values + column + i);
      }
      for (int64_t head = 0; head < x.count; ++head) {
        const VF r = hn::Set(DF(), r_[head]), shrink = hn::Set(DF(), shrink_[head]);
        const Raw* v_at = x.head(head) + column;
        const float* g_at = g_ + head * kDim + column;
        Raw* dx = heads.dx ? heads.dx + head * dx_stride + column : nullptr;
        for (int64_t i = 0; i < kColumns; i += kBlock) {
          later_x.next_block();
          later_dy.next_block();
          const Block v = E::load(v_at + i);
          const Block gr = mul(F32::load(g_at + i), r);
          sums[i / kBlock] = mul_add(gr, v, sums[i / kBlock]);
          if (dx == nullptr) continue;
          const Block whole = kDivides ? gr : mul(gr, F32::load(weight_ + column + i));
          E::template write<kStore>(E::pack(neg_mul_add(v, {shrink, shrink}, whole)), dx + i);
        }
      }
      for (int64_t i = 0; i < kColumns; i += kBlock) {
        F32::store_f32(sums[i / kBlock], dw.values + column + i);
      }
    }
  }

 private:
  using Raw = typename E::Raw;
  static_assert(kMost <= kMaxGroup);
  static constexpr int64_t kBlock = static_cast<int64_t>(block());
  /// Columns of dw that are summed in registers while heads pass by one after the other: where
  /// registers are many, all of 128, so that a head is written from one end to the other.
  static constexpr int64_t kColumns =
      HWY_TARGET <= HWY_AVX3 ? std::min<int64_t>(kDim, 128) : kBlock;
  static_assert(kDim % kColumns == 0 && kColumns % kBlock == 0);

  /// Sums of x^2 and g * w * x over one head, by lane.
  HWY_INLINE void read_head(const Raw* x, const Raw* dy, const WeightedRotation& by, int64_t head,
                            VF& squares_to, VF& dots_to) {
    constexpr int64_t kHalf = kDim / 2;
    Block squares = zero_block(), dots = zero_block();
    const auto add = [&](int64_t i, Block g) HWY_ATTR {
      const auto bits = E::read(x + i);
      const Block v = E::unpack(bits);
      if constexpr (kFlushesSquares<E>) {
        squares.a = E::add_squares(bits, squares.a);
      } else {
        squares = mul_add(v, v, squares);
      }
      dots = mul_add(kDivides ? g : mul(g, F32::load(weight_ + i)), v, dots);
      F32::store_f32(g, g_ + head * kDim + i);
    };
    for_blocks<true>(kHalf, [&](int64_t i, size_t) HWY_ATTR {
      const Block d1 = E::load(dy + i), d2 = E::load(dy + kHalf + i);
      add(i, mul_add(d2, F32::load(by.sin1.values + i), mul(d1, F32::load(by.cos1.values + i))));
      add(kHalf + i,
          neg_mul_add(d1, F32::load(by.sin2.values + i), mul(d2, F32::load(by.cos2.values + i))));
    });
    squares_to = hn::Add(squares.a, squares.b);
    dots_to = hn::Add(dots.a, dots.b);
  }

  HWY_ALIGN float r_[kMaxGroup];
  HWY_ALIGN float shrink_[kMaxGroup];
  HWY_ALIGN float g_[kMost * kDim];
  const float* weight_;
  float least_r_ = 1.0f;
};

/// Whether no product that mattered to these sums left the range of floats: what overflows stays in
/// a sum, and what lost bits below the normal floats is far below these, unless elements of x have
/// enlarged it since (least_r). Zero passes, for padding makes it often: products that vanished
/// altogether were hardly 2^10 times too large to vanish without their weights.
HWY_INLINE bool are_in_range(Block sums) {
  const DF d;
  const auto in_range = [=](VF v) HWY_ATTR {
    const auto is_large = hn::Ge(hn::Abs(v), hn::Set(d, 0x1p-100f));
    return hn::And(hn::Or(is_large, hn::Eq(v, hn::Zero(d))), hn::IsFinite(v));
  };
  return hn::AllTrue(d, hn::And(in_range(sums.a), in_range(sums.b)));
}

/// Divides what WholeHeads summed by the weights. False where some of it left the range of floats.
inline bool divide_out(const Table& weight, int64_t count, Table& dw) {
  bool in_range = true;
  for_blocks<true>(count, [&](int64_t i, size_t) HWY_ATTR {
    const Block sums = F32::load(dw.values + i), w = F32::load(weight.values + i);
    in_range = are_in_range(sums) && in_range;
    F32::store_f32({hn::Div(sums.a, w.a), hn::Div(sums.b, w.b)}, dw.values + i);
  });
  return in_range;
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
