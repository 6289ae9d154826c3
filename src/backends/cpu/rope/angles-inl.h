// SPDX-License-Identifier: MIT
// Cosines and sines of the angles by which a token's pairs rotate.
//
// angle = position * theta^(-2i / frequency_dim) / freq_factors[i]. A float cannot hold such an
// angle at long contexts (131071 rad leaves 2^-7 for the fraction), so it is counted in turns, in
// double: dropping the whole turns is exact, and only the fraction is rounded to float.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_ANGLES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_ANGLES_INL_H
#undef NORITE_CPU_ANGLES_INL_H
#else
#define NORITE_CPU_ANGLES_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <numbers>

#include "backends/cpu/simd/blocks-inl.h"
#include "rope/params.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

inline constexpr int64_t kMaxPairs = kMaxHeadDim / 2;

/// Cosine and sine of `turns` in [-0.5, 0.5], to 3e-7; exactly 1 and 0 for 0.
HWY_INLINE void cos_sin(VF turns, VF& cos, VF& sin) {
  // h in [-0.5, 0.5] half turns, at most one half turn away from the angle, which flips both signs.
  const DF d;
  const VF half_turns = hn::Add(turns, turns);
  const VF flips = hn::Round(half_turns);
  const VF h = hn::Sub(half_turns, flips);
  const VF sign = hn::BitCast(d, hn::ShiftLeft<8>(hn::BitCast(DU(), flips)));  // of 1 and -1
  const VF u = hn::Mul(h, h);
  // Minimax polynomials of sin(pi h) / h and cos(pi h) in h^2.
  VF p = hn::MulAdd(hn::Set(d, 0.077659406f), u, hn::Set(d, -0.59829217f));
  p = hn::MulAdd(p, u, hn::Set(d, 2.5500777f));
  p = hn::MulAdd(p, u, hn::Set(d, -5.1677103f));
  p = hn::MulAdd(p, u, hn::Set(d, 3.1415927f));
  VF q = hn::MulAdd(hn::Set(d, -0.024396718f), u, hn::Set(d, 0.23493756f));
  q = hn::MulAdd(q, u, hn::Set(d, -1.3352121f));
  q = hn::MulAdd(q, u, hn::Set(d, 4.0587091f));
  q = hn::MulAdd(q, u, hn::Set(d, -4.9348021f));
  q = hn::MulAdd(q, u, hn::Set(d, 1.0f));
  sin = hn::Xor(hn::Mul(p, h), sign);
  cos = hn::Xor(q, sign);
}

/// The optional inputs that angles come from; which are given follows RopeAngleParams::source.
struct AngleInputs {
  const void* positions;
  const float* freq_factors;
  const float* cos;
  const float* sin;
};

/// Cosines and sines of one token, one of each for every pair, in plain order.
struct TokenAngles {
  const float* cos;
  const float* sin;
};

/// Where the angles of one token are computed.
struct AngleStorage {
  HWY_ALIGN float cos[kMaxPairs + lanes()];
  HWY_ALIGN float sin[kMaxPairs + lanes()];
};

class Angles {
 public:
  Angles(const RopeAngleParams& params, const AngleInputs& inputs, int64_t pairs)
      : params_(params), inputs_(inputs), pairs_(pairs) {
    if (params.source == kAnglesCached) return;
    // One pow and a running product, whose relative error grows to 1e-13 where frequencies are low.
    const double ratio = std::pow(static_cast<double>(params.theta),
                                  -2.0 / static_cast<double>(params.frequency_dim));
    double frequency = 0.5 * std::numbers::inv_pi;
    for (int64_t i = 0; i < pairs; ++i, frequency *= ratio) {
      turns_[i] = inputs.freq_factors == nullptr ? frequency : frequency / inputs.freq_factors[i];
    }
  }

  /// Calls each(i, cos, sin) for every block of a token's pairs, whole ones in the order of E.
  template <class E, class Each>
  HWY_INLINE void for_blocks_of(int64_t token, Each each) const {
    if (params_.source == kAnglesCached) {
      const float* cos = inputs_.cos + token * params_.cos_stride;
      const float* sin = inputs_.sin + token * params_.sin_stride;
      for_blocks<true>(pairs_, [=](int64_t i, size_t) HWY_ATTR {
        each(i, E::load_f32(cos + i), E::load_f32(sin + i));
      });
    } else {
      const double at = position(token);
      for_blocks<true>(pairs_, [=, this](int64_t i, size_t) HWY_ATTR {
        const Block turns = fractions_of_block<E>(at, i);
        Block cos, sin;
        cos_sin(turns.a, cos.a, sin.a);
        cos_sin(turns.b, cos.b, sin.b);
        each(i, cos, sin);
      });
    }
  }

  /// The angles of one token: where they are cached, or else computed into `storage`.
  TokenAngles of(int64_t token, AngleStorage& storage) const {
    if (params_.source == kAnglesCached) {
      return {inputs_.cos + token * params_.cos_stride, inputs_.sin + token * params_.sin_stride};
    }
    compute(position(token), storage);
    return {storage.cos, storage.sin};
  }

 private:
  double position(int64_t token) const {
    if (params_.source == kAnglesSequential) {
      return static_cast<double>(params_.first_position + token);
    }
    const int64_t i = token * params_.position_stride;
    if (params_.signed_positions != 0) return static_cast<const int32_t*>(inputs_.positions)[i];
    return static_cast<const uint32_t*>(inputs_.positions)[i];
  }

  HWY_NOINLINE void compute(double position, AngleStorage& to) const {
    for (int64_t i = 0; i < pairs_; i += static_cast<int64_t>(lanes())) {
      VF cos, sin;
      cos_sin(fractions(position, i), cos, sin);
      hn::Store(cos, DF(), to.cos + i);
      hn::Store(sin, DF(), to.sin + i);
    }
  }

  /// Turns less the whole ones, as floats.
  template <class D>
  static HWY_INLINE auto fractions(D, hn::Vec<D> turns) {
    return hn::DemoteTo(hn::Rebind<float, D>(), hn::Sub(turns, hn::Round(turns)));
  }

  /// Of pairs [i, i + lanes()).
  HWY_INLINE VF fractions(double position, int64_t i) const {
    const hn::ScalableTag<double> d;
    const auto half = [=, this](int64_t first) HWY_ATTR {
      return fractions(d, hn::Mul(hn::Set(d, position), hn::Load(d, turns_ + first)));
    };
#if HWY_TARGET == HWY_SCALAR  // a vector holds one element of any size
    return half(i);
#else
    return hn::Combine(DF(), half(i + static_cast<int64_t>(lanes() / 2)), half(i));
#endif
  }

  /// Of pairs [i, i + block()), in the order of E.
  template <class E>
  HWY_INLINE Block fractions_of_block(double position, int64_t i) const {
    constexpr int64_t kLanes = static_cast<int64_t>(lanes());
#if HWY_TARGET != HWY_SCALAR
    if constexpr (E::kEvenOdd) {
      const hn::ScalableTag<double> d;
      hn::Vec<decltype(d)> turns[4];  // even and odd ones of either half
      hn::LoadInterleaved2(d, turns_ + i, turns[0], turns[1]);
      hn::LoadInterleaved2(d, turns_ + i + kLanes, turns[2], turns[3]);
      const auto half = [&](int k) HWY_ATTR {
        return fractions(d, hn::Mul(hn::Set(d, position), turns[k]));
      };
      return {hn::Combine(DF(), half(2), half(0)), hn::Combine(DF(), half(3), half(1))};
    }
#endif
    return {fractions(position, i), fractions(position, i + kLanes)};
  }

  const RopeAngleParams& params_;
  const AngleInputs inputs_;
  const int64_t pairs_;
  HWY_ALIGN double turns_[kMaxPairs + lanes()] = {};  // of each pair from a position to the next
};

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
