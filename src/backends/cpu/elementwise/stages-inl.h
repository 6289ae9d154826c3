// SPDX-License-Identifier: MIT
// The loops over a tile of elements: a function each, or a run of short ones in registers.
//
// Whether an operand is memory or an f32 tile is asked for each block: a branch that is foretold
// costs less than a loop of its own for every mix of operands does in compile time and code.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_ELEMENTWISE_STAGES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_ELEMENTWISE_STAGES_INL_H
#undef NORITE_CPU_ELEMENTWISE_STAGES_INL_H
#else
#define NORITE_CPU_ELEMENTWISE_STAGES_INL_H
#endif

#include <hwy/highway.h>

#include "backends/cpu/elementwise/functions-inl.h"
#include "backends/cpu/simd/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

constexpr int64_t kBlock = static_cast<int64_t>(block());
constexpr int kMaxInputs = kElementwiseOut0 - kElementwiseIn0;
constexpr int kMaxOutputs = kElementwiseParams - kElementwiseOut0;
constexpr int kMaxSteps = kElementwiseMostSteps;

/// Elements that a stage reads: of the kernel's dtype E, or an f32 tile in the block order of E.
struct Source {
  const void* first = nullptr;
  bool is_tile = false;

  template <class E, int kBlocks>
  NORITE_IN_LOOPS void load(int64_t i, Block (&to)[kBlocks]) const {
    is_tile ? read<F32>(i, to) : read<E>(i, to);
  }

 private:
  template <class E, int kBlocks>
  HWY_INLINE void read(int64_t i, Block (&to)[kBlocks]) const {
    const auto* from = static_cast<const typename E::Raw*>(first) + i;
    for (int k = 0; k < kBlocks; ++k) to[k] = E::load(from + k * kBlock);
  }
};

/// Where results go: elements of E, or an f32 tile in the block order of E. Streaming needs an
/// address that is aligned to a vector.
struct Target {
  enum class Kind { tile, cached, streaming };

  void* first = nullptr;
  Kind kind = Kind::tile;

  template <class E, int kBlocks>
  NORITE_IN_LOOPS void store(const Block (&v)[kBlocks], int64_t i) const {
    switch (kind) {
      case Kind::tile:
        return write<F32, Store::cached>(v, i);
      case Kind::cached:
        return write<E, Store::cached>(v, i);
      case Kind::streaming:
        return write<E, kStreaming>(v, i);
    }
  }

 private:
  template <class E, Store kStore, int kBlocks>
  HWY_INLINE void write(const Block (&v)[kBlocks], int64_t i) const {
    auto* const to = static_cast<typename E::Raw*>(first) + i;
    for (int k = 0; k < kBlocks; ++k) E::template write<kStore>(E::pack(v[k]), to + k * kBlock);
  }
};

/// What the stages of a chain work on: one tile of each value and of the outputs.
struct TileData {
  Source values[kMaxInputs + kMaxSteps];  // as ElementwiseStep counts them
  Target results[kMaxSteps];              // by step; of the last, the first output
  Target second_output;                   // without an address where it is not wanted
};

/// Steps that run as one loop.
struct Stage {
  using Run = void (*)(const Stage& stage, const TileData& data, int64_t count);

  /// What is done to the value so far.
  struct ShortStep {
    Short kind;
    uint32_t other;  // value that is added or multiplied
    float factor;
  };

  Run run = nullptr;
  uint32_t in[kMaxInputs] = {};  // of a function; the first is where a run of short steps begins
  uint32_t result = 0;           // the step whose result it is
  float scalar = 0;
  ShortStep steps[kMaxSteps] = {};
  int short_steps = 0;
  uint32_t ahead[kMaxInputs] = {};  // memory that the stages behind this one read first
  int aheads = 0;
};

/// One function over whole blocks. Memory that is needed behind it arrives meanwhile.
template <class F, class E>
void run_function(const Stage& stage, const TileData& data, int64_t count) {
  using Precision = decltype(precision_for(E()));
  const VF c = hn::Set(DF(), stage.scalar);
  const Target& out0 = data.results[stage.result];
  const Target& out1 = data.second_output;
  for (int64_t i = 0; i < count; i += kBlock) {
    for (int k = 0; k < stage.aheads; ++k) {
      const void* const first = data.values[stage.ahead[k]].first;
      prefetch_block(static_cast<const typename E::Raw*>(first) + i);
    }
    VF a[F::kInputs], b[F::kInputs], y_a[F::kOutputs], y_b[F::kOutputs];
    for (int k = 0; k < F::kInputs; ++k) {
      Block x[1];
      data.values[stage.in[k]].load<E>(i, x);
      a[k] = x[0].a, b[k] = x[0].b;
    }
    F::template apply<Precision>(c, a, y_a);
    F::template apply<Precision>(c, b, y_b);
    out0.store<E, 1>({{y_a[0], y_b[0]}}, i);
    constexpr int kLast = F::kOutputs - 1;
    if (kLast > 0 && out1.first != nullptr) out1.store<E, 1>({{y_a[kLast], y_b[kLast]}}, i);
  }
}

template <class E, int kBlocks>
HWY_INLINE void run_short_blocks(const Stage& stage, const TileData& data, int64_t i) {
  Block v[kBlocks], other[kBlocks];
  data.values[stage.in[0]].load<E>(i, v);
  for (int s = 0; s < stage.short_steps; ++s) {
    const Stage::ShortStep& step = stage.steps[s];
    if (step.kind == Short::scale) {
      const VF factor = hn::Set(DF(), step.factor);
      for (Block& x : v) x = {hn::Mul(x.a, factor), hn::Mul(x.b, factor)};
      continue;
    }
    data.values[step.other].load<E>(i, other);
    for (int k = 0; k < kBlocks; ++k) {
      v[k] = step.kind == Short::add
                 ? Block{hn::Add(v[k].a, other[k].a), hn::Add(v[k].b, other[k].b)}
                 : Block{hn::Mul(v[k].a, other[k].a), hn::Mul(v[k].b, other[k].b)};
    }
  }
  data.results[stage.result].store<E>(v, i);
}

/// Short steps over whole blocks: what they cost is memory, so a run of them goes over it once.
/// Blocks of 16 bits share decisions in pairs; in f32, longer bursts of streaming stores are
/// slower.
template <class E>
void run_short(const Stage& stage, const TileData& data, int64_t count) {
  constexpr int kBlocks = sizeof(float) / sizeof(typename E::Raw);
  int64_t i = 0;
  for (; i + kBlocks * kBlock <= count; i += kBlocks * kBlock) {
    run_short_blocks<E, kBlocks>(stage, data, i);
  }
  if (i < count) run_short_blocks<E, 1>(stage, data, i);
}

/// The bits as they are.
template <class E>
void run_copy(const Stage& stage, const TileData& data, int64_t count) {
  const auto* from = static_cast<const typename E::Raw*>(data.values[stage.in[0]].first);
  const Target& target = data.results[stage.result];
  auto* const to = static_cast<typename E::Raw*>(target.first);
  const bool streaming = target.kind == Target::Kind::streaming;
  for (int64_t i = 0; i < count; i += kBlock) {
    const auto bits = E::read(from + i);
    streaming ? E::template write<kStreaming>(bits, to + i)
              : E::template write<Store::cached>(bits, to + i);
  }
}

/// A NaN whose mark lies in bits that rounding drops would become an infinity. What is computed
/// has no such NaN, but memory may.
HWY_INLINE VF quiet(VF v) {
  const VF mark = hn::BitCast(DF(), hn::Set(DU(), 0x00400000u));
  return hn::IfThenElse(hn::IsNaN(v), hn::Or(v, mark), v);
}

/// From one dtype to another, whose blocks may be in another order.
template <class From, class To>
void run_conversion(const Stage& stage, const TileData& data, int64_t count) {
  for (int64_t i = 0; i < count; i += kBlock) {
    Block v[1];
    HWY_ALIGN float plain[block()];
    data.values[stage.in[0]].load<From>(i, v);
    From::store_f32(v[0], plain);
    v[0] = To::load_f32(plain);
    v[0] = {quiet(v[0].a), quiet(v[0].b)};
    data.results[stage.result].store<To>(v, i);
  }
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
