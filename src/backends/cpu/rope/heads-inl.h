// SPDX-License-Identifier: MIT
// A head cut into runs of elements that are treated alike, and the tables that go with them.
//
// Every run is walked in blocks counted from its own first element, so that the two halves of a
// pair meet in the same lane whatever the dtype and wherever the halves begin.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_HEADS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_HEADS_INL_H
#undef NORITE_CPU_HEADS_INL_H
#else
#define NORITE_CPU_HEADS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "backends/cpu/rope/angles-inl.h"
#include "backends/cpu/simd/sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Neighbouring elements of a head. A table holds their values from `table` on, in block order and
/// padded to whole blocks.
struct Run {
  int64_t begin = 0, count = 0;
  int64_t table = 0;
};

/// Pair i is (first[i], second[i]), or (first[2i], first[2i + 1]) when interleaved.
struct HeadRuns {
  bool interleaved = false;
  Run first, second;
  std::array<Run, 2> rest;  // in no pair
  int64_t table_size = 0;

  std::array<Run, 4> all() const { return {first, second, rest[0], rest[1]}; }
};

/// Floats of a table over a whole head: four runs, each padded by less than a block; interleaved
/// pairs are padded by less than two.
inline constexpr size_t kTableSize = kMaxHeadDim + 4 * block();

struct Table {
  HWY_ALIGN float values[kTableSize];
};

inline HeadRuns make_runs(int64_t head_dim, int64_t pairs, uint32_t pairing) {
  HeadRuns runs;
  if (pairing == kPairInterleaved) {
    runs.interleaved = true;
    runs.first = {0, 2 * pairs};
    runs.rest[0] = {2 * pairs, head_dim - 2 * pairs};
  } else if (pairing == kPairHalfRope) {
    runs.first = {0, pairs};
    runs.second = {pairs, pairs};
    runs.rest[0] = {2 * pairs, head_dim - 2 * pairs};
  } else {
    const int64_t half = head_dim / 2;
    runs.first = {0, pairs};
    runs.second = {half, pairs};
    runs.rest = {Run{pairs, half - pairs}, Run{half + pairs, half - pairs}};
  }
  const auto padded = [](const Run& run) {
    return static_cast<int64_t>(padded_to_blocks(run.count));
  };
  // Interleaved angles are written two blocks at a time.
  runs.second.table = runs.interleaved ? 2 * static_cast<int64_t>(padded_to_blocks(pairs))
                                       : padded(runs.first);
  runs.rest[0].table = runs.second.table + padded(runs.second);
  runs.rest[1].table = runs.rest[0].table + padded(runs.rest[0]);
  runs.table_size = runs.rest[1].table + padded(runs.rest[1]);
  return runs;
}

/// Weights of a head as f32; ones without a weight.
template <class E>
void expand_head_weight(const HeadRuns& runs, const void* weight, DType dtype, uint32_t mode,
                        Table& to) {
  for (const Run& run : runs.all()) {
    const auto* from = static_cast<const std::byte*>(weight);
    if (from != nullptr) from += run.begin * size_of(dtype);
    expand_weight<E>(from, dtype, mode, run.count, to.values + run.table);
  }
}

HWY_INLINE Block mul(Block v, Block w) { return {hn::Mul(v.a, w.a), hn::Mul(v.b, w.b)}; }
HWY_INLINE Block mul(Block v, VF w) { return {hn::Mul(v.a, w), hn::Mul(v.b, w)}; }
/// c - v * w
HWY_INLINE Block neg_mul_add(Block v, Block w, Block c) {
  return {hn::NegMulAdd(v.a, w.a, c.a), hn::NegMulAdd(v.b, w.b, c.b)};
}

/// Every element's neighbour in its interleaved pair.
template <class E>
HWY_INLINE Block swap_pairs(Block v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (!std::is_same_v<E, BF16>) {
    return {hn::Shuffle2301(v.a), hn::Shuffle2301(v.b)};
  }
#endif
  return {v.b, v.a};  // the even and the odd elements
}

/// Cosines and sines of one token, for every element of the first run, in block order.
struct Rotation {
  Table cos, sin;

  Block cos_at(int64_t i) const { return F32::load(cos.values + i); }
  Block sin_at(int64_t i) const { return F32::load(sin.values + i); }
};

/// One vector of interleaved pairs: y = v * cos + swap_pairs(v) * sin, with sines of either sign.
template <class E>
HWY_INLINE void store_interleaved_angles(VF cos, VF sin, int64_t i, Rotation& to) {
  const Block doubled = {cos, cos}, opposed = {hn::Neg(sin), sin};
  if constexpr (std::is_same_v<E, BF16>) {
    F32::store_f32(doubled, to.cos.values + i);
    F32::store_f32(opposed, to.sin.values + i);
  } else {
    BF16::store_f32(doubled, to.cos.values + i);
    BF16::store_f32(opposed, to.sin.values + i);
  }
}

/// sign: 1, or -1 to rotate backward.
template <class E>
HWY_NOINLINE void make_rotation(const HeadRuns& runs, const TokenAngles& angles, float sign, Rotation& to) {
  const int64_t pairs = runs.interleaved ? runs.first.count / 2 : runs.first.count;
  const VF signs = hn::Set(DF(), sign);
  for_blocks(pairs, [&](int64_t i, size_t count) HWY_ATTR {
    const Block cos = load_part<F32>(angles.cos + i, count);
    const Block sin = mul(load_part<F32>(angles.sin + i, count), signs);
    if (runs.interleaved) {
      store_interleaved_angles<E>(cos.a, sin.a, 2 * i, to);
      store_interleaved_angles<E>(cos.b, sin.b, 2 * i + static_cast<int64_t>(block()), to);
    } else {
      HWY_ALIGN float staged[2 * block()];
      F32::store_f32(cos, staged);
      F32::store_f32(sin, staged + block());
      F32::store_f32(E::load_f32(staged), to.cos.values + i);
      F32::store_f32(E::load_f32(staged + block()), to.sin.values + i);
    }
  });
}

/// Whether full blocks of every run lie on vector boundaries, which streaming stores need.
template <class E>
bool streamable(const HeadRuns& runs, const void* data, const HeadStrides& strides) {
  constexpr int64_t kSize = sizeof(typename E::Raw);
  constexpr int64_t kVector = lanes() * sizeof(float);
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data));
  bits |= strides.token * kSize | strides.head * kSize;
  for (const Run& run : runs.all()) bits |= run.count > 0 ? run.begin * kSize : 0;
  return bits % kVector == 0;
}

/// Heads of one token that are walked together, which shares the loads of their tables and lets
/// their sums settle side by side. Together they stay in the first cache.
inline constexpr int64_t kMaxGroup = 16;

inline int64_t heads_per_group(int64_t head_dim) {
  return std::clamp<int64_t>(kMaxHeadDim / head_dim, 1, kMaxGroup);
}

/// Calls emit(head, run, i, count, v) for every block of `heads` heads, where v is the rotated
/// weight(run, i) * load(head, run, i, count). Both blocks of a pair are loaded before either is
/// emitted, so heads may be rotated in place.
template <class E, class Weight, class Load, class Emit>
HWY_INLINE void rotate_heads(const HeadRuns& runs, const Rotation& rotation, int64_t heads,
                             Weight weight, Load load, Emit emit) {
  const Run first = runs.first, second = runs.second;
  if (runs.interleaved) {
    for_blocks(first.count, [&](int64_t i, size_t count) HWY_ATTR {
      const Block w = weight(first, i);
      const Block cos = mul(rotation.cos_at(i), w);
      const Block sin = mul(rotation.sin_at(i), swap_pairs<E>(w));
      for (int64_t head = 0; head < heads; ++head) {
        const Block v = load(head, first, i, count);
        emit(head, first, i, count, mul_add(swap_pairs<E>(v), sin, mul(v, cos)));
      }
    });
  } else {
    for_blocks(first.count, [&](int64_t i, size_t count) HWY_ATTR {
      const Block w1 = weight(first, i), w2 = weight(second, i);
      const Block cos1 = mul(rotation.cos_at(i), w1), cos2 = mul(rotation.cos_at(i), w2);
      const Block sin1 = mul(rotation.sin_at(i), w1), sin2 = mul(rotation.sin_at(i), w2);
      for (int64_t head = 0; head < heads; ++head) {
        const Block v1 = load(head, first, i, count), v2 = load(head, second, i, count);
        emit(head, first, i, count, neg_mul_add(v2, sin2, mul(v1, cos1)));
        emit(head, second, i, count, mul_add(v1, sin1, mul(v2, cos2)));
      }
    });
  }
  for (const Run& run : runs.rest) {
    for_blocks(run.count, [&](int64_t i, size_t count) HWY_ATTR {
      const Block w = weight(run, i);
      for (int64_t head = 0; head < heads; ++head) {
        emit(head, run, i, count, mul(load(head, run, i, count), w));
      }
    });
  }
}

/// 1 / sqrt(sum / dim + eps)
HWY_INLINE VF rms_inv(VF sum, int64_t dim, float eps) {
  const DF d;
  const VF mean = hn::Div(sum, hn::Set(d, static_cast<float>(dim)));
  return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(hn::Add(mean, hn::Set(d, eps))));
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
