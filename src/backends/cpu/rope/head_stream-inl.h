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
#include <type_traits>

#include "backends/cpu/rope/weighted_rotation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

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

inline constexpr int64_t kAtOnce = std::min<int64_t>(4, lanes());  // heads

/// Whether heads are kept as f32 from the first walk over them to the second: f16 takes long to
/// unpack.
template <class E>
inline constexpr bool kKeepsFloats = std::is_same_v<E, F16>;

/// A few heads between being read and being written.
template <class E, int64_t kDim>
struct ReadHeads {
  Heads<typename E::Raw> from;
  HWY_ALIGN float scales[lanes()];
  HWY_ALIGN float floats[kKeepsFloats<E> ? kAtOnce * kDim : 1];

  using Kept = std::conditional_t<kKeepsFloats<E>, F32, E>;

  HWY_INLINE const typename Kept::Raw* kept(int64_t head) const {
    if constexpr (kKeepsFloats<E>) {
      return floats + head * kDim;
    } else {
      return from.head(head);
    }
  }

  /// The squares of one head, by lane.
  HWY_INLINE VF read(int64_t head) {
    const auto* x = from.head(head);
    if constexpr (!kKeepsFloats<E>) return squares_by_lane<E>(x, kDim);
    float* to = floats + head * kDim;
    return sum_blocks_by_lane(kDim, [=](Block acc, int64_t i, size_t) HWY_ATTR {
      const Block v = E::load(x + i);
      F32::store_f32(v, to + i);
      return mul_add(v, v, acc);
    });
  }

  HWY_INLINE void find_scales(const VF* squares, float eps) {
    hn::Store(scales_of<E>(from, squares, kDim, eps), DF(), scales);
  }
};

template <class E, Store kStore, int64_t kDim>
HWY_INLINE void write_head(const ReadHeads<E, kDim>& heads, int64_t head,
                           const WeightedRotation& by, Prefetcher<kStore, typename E::Raw>& later,
                           typename E::Raw* y) {
  using Kept = typename ReadHeads<E, kDim>::Kept;
  constexpr int64_t kHalf = kDim / 2;
  const VF scale = hn::Set(DF(), heads.scales[head]);
  const auto* v = heads.kept(head);  // once: what is read through a reference is, after every store
  for_blocks<true>(kHalf, [&](int64_t i, size_t) HWY_ATTR {
    later.next_block();
    later.next_block();
    const Block v1 = mul(Kept::load(v + i), scale), v2 = mul(Kept::load(v + kHalf + i), scale);
    const Block y1 =
        neg_mul_add(v2, F32::load(by.sin2.values + i), mul(v1, F32::load(by.cos1.values + i)));
    const Block y2 =
        mul_add(v1, F32::load(by.sin1.values + i), mul(v2, F32::load(by.cos2.values + i)));
    E::template write<kStore>(E::pack(y1), y + i);
    E::template write<kStore>(E::pack(y2), y + kHalf + i);
  });
}

template <class E, int64_t kDim>
HWY_NOINLINE void read_heads(ReadHeads<E, kDim>& heads, float eps) {
  VF squares[kAtOnce];
  for (int64_t i = 0; i < heads.from.count; ++i) squares[i] = heads.read(i);
  heads.find_scales(squares, eps);
}

/// Writes `heads` and reads `next` ones: each is read from memory while another is written. later:
/// heads to prefetch, or nullptr.
template <class E, Store kStore, int64_t kDim>
HWY_NOINLINE void write_and_read(const ReadHeads<E, kDim>& heads, ReadHeads<E, kDim>& next,
                                 const typename E::Raw* later, float eps,
                                 const WeightedRotation& by, typename E::Raw* y, int64_t y_stride) {
  VF squares[kAtOnce];
  Prefetcher<kStore, typename E::Raw> prefetcher(later);
  for (int64_t i = 0; i < kAtOnce; ++i, y += y_stride) {
    if (i < next.from.count) squares[i] = next.read(i);
    if (i < heads.from.count) write_head<E, kStore, kDim>(heads, i, by, prefetcher, y);
  }
  next.find_scales(squares, eps);
}

/// Turns of kAtOnce heads, one token after the other. Past the last token it stays with that.
template <class Raw>
class HeadTurns {
 public:
  HeadTurns(const Raw* x, const HeadNormRopeParams& params, int64_t begin, int64_t end)
      : token_(x + begin * params.x.token), params_(params), left_(end - begin) {}

  Heads<Raw> next() {
    const Heads<Raw> heads = {token_ + head_ * params_.x.head, params_.x.head,
                              std::min(kAtOnce, params_.heads - head_)};
    head_ += kAtOnce;
    if (head_ >= params_.heads) {
      head_ = 0;
      if (--left_ > 0) token_ += params_.x.token;
    }
    return heads;
  }

 private:
  const Raw* token_;
  const HeadNormRopeParams& params_;
  int64_t left_, head_ = 0;
};

template <class E, Store kStore, int64_t kDim>
void stream_heads_as(const HeadStream<E>& stream, int64_t begin, int64_t end) {
  const HeadNormRopeParams& params = stream.params;
  HeadTurns turns(stream.x, params, begin, end);
  // One that is written, one whose scales settle, one that is read.
  ReadHeads<E, kDim> ring[3];
  for (int64_t turn = 0; turn < 2; ++turn) {
    ring[turn].from = turns.next();
    read_heads(ring[turn], params.eps);
  }
  WeightedRotation by;
  size_t turn = 0;
  for (int64_t token = begin; token < end; ++token) {
    weigh<E>(stream.runs, stream.angles, token, stream.weight, by);
    auto* y = stream.y + token * params.y.token;
    const int64_t later_token = std::min(token + stream.tokens_ahead, params.tokens - 1);
    const auto* later = stream.x + later_token * params.x.token;
    for (int64_t head = 0; head < params.heads; head += kAtOnce, ++turn) {
      const ReadHeads<E, kDim>& heads = ring[turn % 3];
      ReadHeads<E, kDim>& next = ring[(turn + 2) % 3];
      next.from = turns.next();
      write_and_read<E, kStore, kDim>(
          heads, next, stream.tokens_ahead > 0 ? later + head * params.x.head : nullptr, params.eps,
          by, y + head * params.y.head, params.y.head);
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
    if (!stream.runs.whole || stream.runs.interleaved) return false;
    if (stream.params.normalise == 0 || stream.params.angles.negate != 0) return false;
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
