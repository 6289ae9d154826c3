// SPDX-License-Identifier: MIT
// 16-bit heads of a common size, all of whose elements rotate with the other half of their head.
// They go by a few at a time: while these are written, the sums of later ones settle, so that
// nothing waits for a root or a quotient, and memory is read and written all the time.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_HEAD_STREAM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_HEAD_STREAM_INL_H
#undef NORITE_CPU_HEAD_STREAM_INL_H
#else
#define NORITE_CPU_HEAD_STREAM_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "backends/cpu/rope/heads-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Angles of one token times the weights of what they multiply: y1 = v1 * cos1 - v2 * sin2,
/// y2 = v2 * cos2 + v1 * sin1.
struct WeightedRotation {
  Table cos1, cos2, sin1, sin2;
};

inline HWY_NOINLINE void weigh(const HeadRuns& runs, const Rotation& rotation, const Table& weight,
                               WeightedRotation& to) {
  for_blocks<true>(runs.first.count, [&](int64_t i, size_t) HWY_ATTR {
    const Block w1 = F32::load(weight.values + runs.first.table + i);
    const Block w2 = F32::load(weight.values + runs.second.table + i);
    const Block cos = rotation.cos_at(i), sin = rotation.sin_at(i);
    F32::store_f32(mul(cos, w1), to.cos1.values + i);
    F32::store_f32(mul(cos, w2), to.cos2.values + i);
    F32::store_f32(mul(sin, w1), to.sin1.values + i);
    F32::store_f32(mul(sin, w2), to.sin2.values + i);
  });
}

/// Heads to stream from x to y, which may be the same.
template <class E>
struct HeadStream {
  const HeadNormRopeParams& params;
  const HeadRuns& runs;
  const Angles& angles;
  const Table& weight;
  const typename E::Raw* x;
  typename E::Raw* y;
  bool past_caches;      // whether y is written by streaming stores
  int64_t tokens_ahead;  // by how many to prefetch; 0: not at all
};

template <class E, Store kStore, int64_t kDim>
HWY_INLINE void write_head(const typename E::Raw* x, VF scale, const WeightedRotation& by,
                           Prefetcher<kStore, typename E::Raw>& later, typename E::Raw* y) {
  constexpr int64_t kHalf = kDim / 2;
  for_blocks<true>(kHalf, [&](int64_t i, size_t) HWY_ATTR {
    later.next_block();
    later.next_block();
    const Block v1 = mul(E::load(x + i), scale), v2 = mul(E::load(x + kHalf + i), scale);
    const Block y1 =
        neg_mul_add(v2, F32::load(by.sin2.values + i), mul(v1, F32::load(by.cos1.values + i)));
    const Block y2 =
        mul_add(v1, F32::load(by.sin1.values + i), mul(v2, F32::load(by.cos2.values + i)));
    E::template write<kStore>(E::pack(y1), y + i);
    E::template write<kStore>(E::pack(y2), y + kHalf + i);
  });
}

inline constexpr int64_t kAtOnce = std::min<int64_t>(4, lanes());  // heads

struct Scales {
  HWY_ALIGN float of[lanes()];
};

template <class E, int64_t kDim>
HWY_NOINLINE void find_scales(const Heads<typename E::Raw>& heads, float eps, Scales& to) {
  VF squares[kAtOnce];
  for (int64_t i = 0; i < heads.count; ++i) squares[i] = squares_by_lane<E>(heads.head(i), kDim);
  hn::Store(scales_of<E>(heads, squares, kDim, eps), DF(), to.of);
}

/// Writes `heads`, whose scales are given, and replaces these by the scales of `next` heads: each
/// head is read from memory while another is written. later: heads to prefetch, or nullptr.
template <class E, Store kStore, int64_t kDim>
HWY_NOINLINE void write_heads_at_once(const Heads<typename E::Raw>& heads,
                                      const Heads<typename E::Raw>& next,
                                      const typename E::Raw* later, Scales& scales, float eps,
                                      const WeightedRotation& by, typename E::Raw* y,
                                      int64_t y_stride) {
  VF squares[kAtOnce];
  Prefetcher<kStore, typename E::Raw> prefetcher(later);
  for (int64_t i = 0; i < kAtOnce; ++i, y += y_stride) {
    if (i < next.count) squares[i] = squares_by_lane<E>(next.head(i), kDim);
    if (i < heads.count) {
      write_head<E, kStore, kDim>(heads.head(i), hn::Set(DF(), scales.of[i]), by, prefetcher, y);
    }
  }
  hn::Store(scales_of<E>(next, squares, kDim, eps), DF(), scales.of);
}

template <class E, Store kStore, int64_t kDim>
void stream_heads_as(const HeadStream<E>& stream, int64_t begin, int64_t end) {
  const HeadNormRopeParams& params = stream.params;
  const int64_t turns = (params.heads + kAtOnce - 1) / kAtOnce;  // of each token
  const auto heads_of = [&](int64_t turn) -> Heads<typename E::Raw> {
    const int64_t token = std::min(begin + turn / turns, end - 1), head = turn % turns * kAtOnce;
    return {stream.x + token * params.x.token + head * params.x.head, params.x.head,
            std::min(kAtOnce, params.heads - head)};
  };
  AngleStorage angles;
  Rotation rotation;
  WeightedRotation by;
  Scales scales[2];
  for (int64_t turn = 0; turn < 2; ++turn) {
    find_scales<E, kDim>(heads_of(turn), params.eps, scales[turn]);
  }
  int64_t turn = 0;
  for (int64_t token = begin; token < end; ++token) {
    make_rotation<E>(stream.runs, stream.angles.of(token, angles),
                     params.angles.negate != 0 ? -1.0f : 1.0f, rotation);
    weigh(stream.runs, rotation, stream.weight, by);
    auto* y = stream.y + token * params.y.token;
    const int64_t later_token = std::min(token + stream.tokens_ahead, params.tokens - 1);
    const auto* later = stream.x + later_token * params.x.token;
    for (int64_t head = 0; head < params.heads; head += kAtOnce, ++turn) {
      write_heads_at_once<E, kStore, kDim>(
          heads_of(turn), heads_of(turn + 2),
          stream.tokens_ahead > 0 ? later + head * params.x.head : nullptr, scales[turn % 2],
          params.eps, by, y + head * params.y.head, params.y.head);
    }
  }
  hwy::FlushStream();
}

template <class E, int64_t kDim>
void stream_heads_of(const HeadStream<E>& stream, int64_t begin, int64_t end) {
  stream.past_caches ? stream_heads_as<E, kStreaming, kDim>(stream, begin, end)
                     : stream_heads_as<E, Store::cached, kDim>(stream, begin, end);
}

/// In f32 it brings nothing. Emulated vectors wait for arithmetic, not for memory, and unrolled
/// they take the compiler long.
template <class E>
inline constexpr bool kStreamsHeads = !std::is_same_v<E, F32> && HWY_TARGET != HWY_EMU128;

/// Streams the heads of tokens [begin, end), or returns false where this is not made for them.
template <class E>
bool stream_heads([[maybe_unused]] const HeadStream<E>& stream, [[maybe_unused]] int64_t begin,
                  [[maybe_unused]] int64_t end) {
  if constexpr (kStreamsHeads<E>) {
    if (stream.params.normalise == 0 || !stream.runs.whole || stream.runs.interleaved) return false;
    switch (stream.params.head_dim) {
      case 64:
        stream_heads_of<E, 64>(stream, begin, end);
        return true;
      case 128:
        stream_heads_of<E, 128>(stream, begin, end);
        return true;
      case 256:
        stream_heads_of<E, 256>(stream, begin, end);
        return true;
      default:
        break;
    }
  }
  return false;
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
