// SPDX-License-Identifier: MIT
// A head cut into runs of elements that are treated alike, the tables that go with them, and the
// rotation of heads.
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

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "backends/cpu/rope/angles-inl.h"
#include "backends/cpu/simd/sums-inl.h"
#include "backends/cpu/simd/weights-inl.h"

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
  bool whole = false;  // every element is in a pair, and runs are of whole blocks
  Run first, second;
  std::array<Run, 2> rest;  // in no pair
  int64_t table_size = 0;

  std::array<Run, 4> all() const { return {first, second, rest[0], rest[1]}; }
};

/// Most floats that the tables of `heads` heads take: padding adds less than four blocks to each.
constexpr size_t table_floats(size_t elements, size_t heads) {
  return elements + heads * 4 * block();
}

struct Table {
  HWY_ALIGN float values[table_floats(kMaxHeadDim, 1)];
};

inline HeadRuns make_runs(int64_t head_dim, int64_t pairs, uint32_t pairing) {
  const auto padded = [](int64_t count) { return static_cast<int64_t>(padded_to_blocks(count)); };
  const int64_t half = head_dim / 2, unpaired = head_dim - 2 * pairs;
  HeadRuns runs;
  if (pairing == kPairInterleaved) {
    runs.interleaved = true;
    runs.first = {0, 2 * pairs};
    runs.second.table = 2 * padded(pairs);  // angles are written two blocks at a time
    runs.rest[0] = {2 * pairs, unpaired};
  } else {
    const bool by_half = pairing == kPairHalfDim;
    runs.first = {0, pairs};
    runs.second = {by_half ? half : pairs, pairs, padded(pairs)};
    runs.rest[0] = {by_half ? pairs : 2 * pairs, by_half ? half - pairs : unpaired};
    if (by_half) runs.rest[1] = {half + pairs, half - pairs};
  }
  runs.rest[0].table = runs.second.table + padded(runs.second.count);
  runs.rest[1].table = runs.rest[0].table + padded(runs.rest[0].count);
  runs.table_size = runs.rest[1].table + padded(runs.rest[1].count);
  runs.whole = unpaired == 0 && padded(runs.first.count) == runs.first.count;
  return runs;
}

/// Weights of a head as f32; ones without a weight.
template <class E>
void expand_head_weight(const HeadRuns& runs, const void* weight, DType dtype, uint32_t mode,
                        Table& to) {
  const auto* bytes = static_cast<const std::byte*>(weight);
  for (const Run& run : runs.all()) {
    const void* from = bytes != nullptr ? bytes + run.begin * size_of(dtype) : nullptr;
    expand_weight<E>(from, dtype, mode, run.count, to.values + run.table);
  }
}

/// Whether whole blocks of every run lie on vector boundaries, which streaming stores need.
template <class E>
bool is_streamable(const HeadRuns& runs, const void* first, const HeadStrides& strides) {
  constexpr int64_t kSize = sizeof(typename E::Raw);
  int64_t bits = static_cast<int64_t>(reinterpret_cast<uintptr_t>(first));
  bits |= strides.token * kSize | strides.head * kSize;
  for (const Run& run : runs.all()) bits |= run.count > 0 ? run.begin * kSize : 0;
  return bits % static_cast<int64_t>(lanes() * sizeof(float)) == 0;
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
  if constexpr (!E::kEvenOdd) {
    return {hn::Shuffle2301(v.a), hn::Shuffle2301(v.b)};
  }
#endif
  return {v.b, v.a};  // the even and the odd elements
}

/// Cosines and sines of one token for the first run, in block order. Interleaved pairs have theirs
/// twice, the sine first negative: y = v * cos + swap_pairs(v) * sin.
struct Rotation {
  Table cos, sin;

  HWY_INLINE Block cos_at(int64_t i) const { return F32::load(cos.values + i); }
  HWY_INLINE Block sin_at(int64_t i) const { return F32::load(sin.values + i); }
};

template <class E>
HWY_INLINE void store_interleaved(VF cos, VF sin, int64_t i, Rotation& to) {
  // What BF16 stores from even and odd elements is plain order, which is the block order of others.
  using Order = std::conditional_t<E::kEvenOdd, F32, BF16>;
  Order::store_f32({cos, cos}, to.cos.values + i);
  Order::store_f32({hn::Neg(sin), sin}, to.sin.values + i);
}

/// sign: 1, or -1 to rotate backward.
template <class E>
HWY_NOINLINE void make_rotation(const HeadRuns& runs, const TokenAngles& angles, float sign,
                                Rotation& to) {
  const VF signs = hn::Set(DF(), sign);
  if (runs.interleaved) {
    for_blocks(runs.first.count / 2, [&](int64_t i, size_t count) HWY_ATTR {
      const Block cos = load_part<F32>(angles.cos + i, count);
      const Block sin = mul(load_part<F32>(angles.sin + i, count), signs);
      store_interleaved<E>(cos.a, sin.a, 2 * i, to);
      store_interleaved<E>(cos.b, sin.b, 2 * i + static_cast<int64_t>(block()), to);
    });
  } else {
    for_blocks(runs.first.count, [&](int64_t i, size_t count) HWY_ATTR {
      const Block sin = mul(load_f32_part<E>(angles.sin + i, count), signs);
      F32::store_f32(load_f32_part<E>(angles.cos + i, count), to.cos.values + i);
      F32::store_f32(sin, to.sin.values + i);
    });
  }
}

/// Heads of one token that are walked together, which shares the loads of their tables and lets
/// their sums settle side by side. They stay few because a group is first read and then written:
/// longer phases leave the memory idle on one side for longer.
inline constexpr int64_t kMaxGroup = 16;
inline constexpr int64_t kGroupBytes = 2048;

template <class E>
constexpr int64_t heads_per_group(int64_t head_dim) {
  constexpr int64_t kElements = kGroupBytes / sizeof(typename E::Raw);
  return std::clamp<int64_t>(kElements / head_dim, 1, kMaxGroup);
}

/// Prefetches heads to come from one end to the other, a block for each block that is worked on. A
/// walk that alternates between the halves of a head hides from the hardware, where they are far
/// apart, that it reads on and on.
template <Store kStore, class Raw>
class Prefetcher {
 public:
  /// nullptr: nothing to prefetch.
  explicit Prefetcher(const Raw* from) : from_(from) {}

  HWY_INLINE void next_block() {
    if (from_ == nullptr) return;
    prefetch_block_beside<kStore, 3>(from_);  // a fourth request costs more than it brings
    from_ += block();
  }

 private:
  const Raw* from_;
};

/// What a weight multiplies: 16-bit heads share the products with their angles. In f32 it is the
/// elements, as in a norm that a rotation follows, which then has the same bits.
template <class E>
HWY_INLINE Block weighted_angle(Block angle, Block w) {
  if constexpr (std::is_same_v<E, F32>) return angle;
  return mul(angle, w);
}
template <class E>
HWY_INLINE Block weighted_value(Block v, Block w) {
  if constexpr (std::is_same_v<E, F32>) return mul(v, w);
  return v;
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
      const Block cos = weighted_angle<E>(rotation.cos_at(i), w);
      const Block sin = weighted_angle<E>(rotation.sin_at(i), swap_pairs<E>(w));
      for (int64_t head = 0; head < heads; ++head) {
        const Block v = weighted_value<E>(load(head, first, i, count), w);
        emit(head, first, i, count, mul_add(swap_pairs<E>(v), sin, mul(v, cos)));
      }
    });
  } else {
    for_blocks(first.count, [&](int64_t i, size_t count) HWY_ATTR {
      const Block w1 = weight(first, i), w2 = weight(second, i);
      const Block cos = rotation.cos_at(i), sin = rotation.sin_at(i);
      const Block cos1 = weighted_angle<E>(cos, w1), cos2 = weighted_angle<E>(cos, w2);
      const Block sin1 = weighted_angle<E>(sin, w1), sin2 = weighted_angle<E>(sin, w2);
      for (int64_t head = 0; head < heads; ++head) {
        const Block v1 = weighted_value<E>(load(head, first, i, count), w1);
        const Block v2 = weighted_value<E>(load(head, second, i, count), w2);
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

/// v with `value` in lane i. Sums are gathered so because a vector load of floats just stored one
/// by one waits until every store before them, streaming ones too, has left the core.
HWY_INLINE VF with_lane(VF v, int64_t i, float value) {
  const DF d;
  const auto lane = hn::Eq(hn::Iota(d, 0.0f), hn::Set(d, static_cast<float>(i)));
  return hn::IfThenElse(lane, hn::Set(d, value), v);
}

#if HWY_TARGET <= HWY_AVX3

alignas(64) inline constexpr int32_t kFirstOfEachFour[16] = {0, 4, 8, 12, 0, 4, 8, 12,
                                                             0, 4, 8, 12, 0, 4, 8, 12};

/// The sum of all lanes of each vector, in four lanes each, added in the order of hn::SumOfLanes.
HWY_INLINE VF sums_of_lanes(VF a, VF b, VF c, VF d) {
  const auto halves = [](VF v, VF w) HWY_ATTR {
    return hn::Add(VF{_mm512_shuffle_f32x4(v.raw, w.raw, 0x44)},
                   VF{_mm512_shuffle_f32x4(v.raw, w.raw, 0xEE)});
  };
  const VF ab = halves(a, b), cd = halves(c, d);
  const VF quarters = hn::Add(VF{_mm512_shuffle_f32x4(ab.raw, cd.raw, 0x88)},
                              VF{_mm512_shuffle_f32x4(ab.raw, cd.raw, 0xDD)});
  const VF pairs = hn::Add(quarters, hn::Shuffle1032(quarters));
  return hn::Add(pairs, hn::Shuffle2301(pairs));
}

#endif

/// In lane i the sum of all lanes of v[i], for `count` vectors, at most lanes().
HWY_INLINE VF sums_of_lanes(const VF* v, int64_t count) {
  const DF d;
  VF sums = hn::Zero(d);
#if HWY_TARGET <= HWY_AVX3
  const auto first_of_each = hn::SetTableIndices(d, kFirstOfEachFour);
  for (int64_t i = 0; i < count; i += 4) {
    const auto at = [=](int64_t k) HWY_ATTR { return v[std::min(i + k, count - 1)]; };
    const VF four = hn::TableLookupLanes(sums_of_lanes(at(0), at(1), at(2), at(3)), first_of_each);
    sums = hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(i)), sums, four);
  }
#else
  for (int64_t i = 0; i < count; ++i) {
    sums = with_lane(sums, i, hn::GetLane(hn::SumOfLanes(d, v[i])));
  }
#endif
  return sums;
}

/// 1 / sqrt(sum / dim + eps)
HWY_INLINE VF rms_inv(VF sum, int64_t dim, float eps) {
  const DF d;
  const VF mean = hn::Div(sum, hn::Set(d, static_cast<float>(dim)));
  return hn::Div(hn::Set(d, 1.0f), hn::Sqrt(hn::Add(mean, hn::Set(d, eps))));
}

/// Neighbouring heads of one token.
template <class Raw>
struct Heads {
  const Raw* x;
  int64_t stride, count;

  HWY_INLINE const Raw* head(int64_t i) const { return x + i * stride; }
};

/// In lane i, 1 / sqrt(mean of squares + eps) of head i, given its squares by lane. At most lanes()
/// heads.
template <class E>
HWY_INLINE VF scales_of(const Heads<typename E::Raw>& heads, const VF* squares, int64_t dim,
                        float eps) {
  VF sums = sums_of_lanes(squares, heads.count);
  if constexpr (kFlushesSquares<E>) {
    const auto are_small = hn::Lt(sums, hn::Set(DF(), kLeastFlushedSum));
    if (HWY_UNLIKELY(eps < kLeastFlushedSum && !hn::AllFalse(DF(), are_small))) {
      HWY_ALIGN float each[lanes()];
      hn::Store(sums, DF(), each);
      for (int64_t i = 0; i < heads.count; ++i) {
        // Those alone: the others' bits do not depend on their neighbours.
        if (each[i] < kLeastFlushedSum) each[i] = sum_of_squares<BF16>(heads.head(i), dim, eps);
      }
      sums = hn::Load(DF(), each);
    }
  }
  return rms_inv(sums, dim, eps);
}

/// r = 1 / sqrt(mean of squares + eps) of each head, and for dx = g * w * r - x * shrink that
/// factor. `dots`: g * w * x by lane.
template <class E>
HWY_INLINE void store_factors(const Heads<typename E::Raw>& heads, const VF* squares,
                              const VF* dots, int64_t dim, float eps, float* r_to,
                              float* shrink_to) {
  const DF d;
  const VF r = scales_of<E>(heads, squares, dim, eps);
  const VF mean = hn::Div(sums_of_lanes(dots, heads.count), hn::Set(d, static_cast<float>(dim)));
  hn::Store(r, d, r_to);
  hn::Store(hn::Mul(hn::Mul(mean, r), hn::Mul(r, r)), d, shrink_to);
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
