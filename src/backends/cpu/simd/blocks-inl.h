// SPDX-License-Identifier: MIT
// Loads and stores of float data in blocks of two vectors, always as f32 in registers.
//
// Block order: for f32 and f16 the first vector holds elements [0, N), the second [N, 2N). For bf16
// the first holds the even elements, the second the odd ones: a 32-bit word is two bf16, and a
// shift and a mask split it at half the cost of widening. Whatever is combined element by element
// with a block (weights, cosines) must be in the same order: load_f32 and store_f32 of each element
// type convert between plain f32 memory and a block.
//
// kEvenOdd says which.
//
// Each element type also has its packed form, the bits of a block as they are stored: pack rounds
// (to nearest, ties to even; NaN stays NaN) and unpack is exact.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_BLOCKS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_BLOCKS_INL_H
#undef NORITE_CPU_BLOCKS_INL_H
#else
#define NORITE_CPU_BLOCKS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backends/cpu/simd/float16-inl.h"
#include "norite/dtype.hpp"
#include "norite/float16.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// Elements of one vector and of one block.
HWY_INLINE constexpr size_t lanes() { return HWY_LANES(float); }
HWY_INLINE constexpr size_t block() { return 2 * lanes(); }

struct Block {
  VF a, b;
};

enum class Store { cached, streaming };  // streaming needs an address aligned to a vector
HWY_INLINE bool is_aligned(const void* to) {
  return reinterpret_cast<uintptr_t>(to) % (lanes() * sizeof(float)) == 0;
}
/// Emulated vectors have no streaming stores, and get no code of their own for them.
inline constexpr Store kStreaming = HWY_TARGET == HWY_EMU128 ? Store::cached : Store::streaming;

template <Store kStore, class D>
HWY_INLINE void store_vector(hn::Vec<D> v, D d, hn::TFromD<D>* to) {
  if constexpr (kStore == Store::streaming) {
    hn::Stream(v, d, to);
  } else {
    hn::StoreU(v, d, to);
  }
}

struct F32 {
  using Raw = float;
  using Packed = Block;
  static constexpr bool kEvenOdd = false;

  static HWY_INLINE Packed pack(Block v) { return v; }
  static HWY_INLINE Block unpack(Packed bits) { return bits; }
  static HWY_INLINE Packed read(const Raw* from) {
    return {hn::LoadU(DF(), from), hn::LoadU(DF(), from + lanes())};
  }
  template <Store kStore>
  static HWY_INLINE void write(Packed bits, Raw* to) {
    store_vector<kStore>(bits.a, DF(), to);
    store_vector<kStore>(bits.b, DF(), to + lanes());
  }

  static HWY_INLINE Block load(const Raw* from) { return read(from); }
  static HWY_INLINE Block load_f32(const float* from) { return read(from); }
  static HWY_INLINE void store_f32(Block v, float* to) { write<Store::cached>(v, to); }
};

struct BF16 {
  using Raw = uint16_t;
  using Packed = VU;
  static constexpr bool kEvenOdd = true;

  // Two 16-bit lanes at a time: what rounding adds to the upper half of a float is the carry out of
  // lower + 0x7FFF + (upper & 1), and that is the top bit of a rounding average. The two
  // saturations keep NaN 0x7FFF and 0xFFFF from turning into zero.
  static HWY_INLINE Packed pack(Block v) {
#if HWY_TARGET == HWY_SCALAR
    const uint32_t even = to_bfloat16(hn::GetLane(v.a)).bits;
    const uint32_t odd = to_bfloat16(hn::GetLane(v.b)).bits;
    return hn::Set(DU(), even | odd << 16);
#else
    const hn::Repartition<uint16_t, DU> du;
    const hn::Repartition<int16_t, DU> di;
    const VU a = hn::BitCast(DU(), v.a);
    const VU b = hn::BitCast(DU(), v.b);
    const VU upper_mask = hn::Set(DU(), 0xFFFF0000u);
    const auto upper = hn::BitCast(du, hn::Or(hn::ShiftRight<16>(a), hn::And(b, upper_mask)));
    const auto lower = hn::BitCast(du, hn::Or(hn::AndNot(upper_mask, a), hn::ShiftLeft<16>(b)));
    const auto half = hn::OrAnd(hn::Set(du, 0x7FFE), upper, hn::Set(du, 1));
    const auto carry = hn::ShiftRight<15>(hn::AverageRound(lower, half));
    const auto sum = hn::SaturatedAdd(hn::BitCast(di, upper), hn::BitCast(di, carry));
    return hn::BitCast(DU(), hn::Max(upper, hn::BitCast(du, sum)));
#endif
  }
  static HWY_INLINE Block unpack(Packed bits) {
    return {hn::BitCast(DF(), hn::ShiftLeft<16>(bits)),
            hn::BitCast(DF(), hn::And(bits, hn::Set(DU(), 0xFFFF0000u)))};
  }
  static HWY_INLINE Packed read(const Raw* from) {
    return hn::LoadU(DU(), reinterpret_cast<const uint32_t*>(from));
  }
  template <Store kStore>
  static HWY_INLINE void write(Packed bits, Raw* to) {
    store_vector<kStore>(bits, DU(), reinterpret_cast<uint32_t*>(to));
  }

  static HWY_INLINE Block load(const Raw* from) { return unpack(read(from)); }
  static HWY_INLINE Block load_f32(const float* from) {
#if HWY_TARGET == HWY_SCALAR  // vectors of one element: plain order is block order
    return F32::load(from);
#else
    Block v;
    hn::LoadInterleaved2(DF(), from, v.a, v.b);
    return v;
#endif
  }
  static HWY_INLINE void store_f32(Block v, float* to) {
#if HWY_TARGET == HWY_SCALAR
    F32::store_f32(v, to);
#else
    hn::StoreInterleaved2(v.a, v.b, DF(), to);
#endif
  }
};

#if HWY_TARGET <= HWY_AVX3

/// bf16 by instructions that this level does not promise: SimdLevel::bf16 does. Assembly, because
/// compilers offer them only to functions of another target.
struct NativeBF16 : BF16 {
  static HWY_INLINE Packed pack(Block v) {
    __m512i halves;  // all even elements, then all odd ones
    asm("vcvtne2ps2bf16 %1, %2, %0" : "=v"(halves) : "v"(v.a.raw), "v"(v.b.raw));
    const VU bits{_mm512_permutexvar_epi16(_mm512_load_si512(kInterleaved), halves)};
    // The instruction takes subnormal floats for zero. What is none of those stays its result: the
    // bits of a NaN must not depend on its neighbours.
    const __mmask32 zeros = _mm512_testn_epi16_mask(bits.raw, _mm512_set1_epi16(0x7FFF));
    if (HWY_LIKELY(zeros == 0)) return bits;
    return VU{_mm512_mask_mov_epi16(bits.raw, zeros, BF16::pack(v).raw)};
  }

  /// acc + x * x for every element x. Takes what is subnormal for zero, products and sums too.
  static HWY_INLINE VF add_squares(Packed x, VF acc) {
    asm("vdpbf16ps %1, %1, %0" : "+v"(acc.raw) : "v"(x.raw));
    return acc;
  }

 private:
  alignas(64) static constexpr uint16_t kInterleaved[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
};

#else
using NativeBF16 = BF16;
#endif

struct F16 {
  using Raw = uint16_t;
  struct Packed {
    VHalves a, b;
  };
  static constexpr bool kEvenOdd = false;

  static HWY_INLINE Packed pack(Block v) { return {narrow_f16(v.a), narrow_f16(v.b)}; }
  static HWY_INLINE Block unpack(Packed bits) { return {widen_f16(bits.a), widen_f16(bits.b)}; }
  static HWY_INLINE Packed read(const Raw* from) {
    return {hn::LoadU(DHalves(), from), hn::LoadU(DHalves(), from + lanes())};
  }
  template <Store kStore>
  static HWY_INLINE void write(Packed bits, Raw* to) {
#if HWY_TARGET != HWY_SCALAR  // which has nothing to join
    // Highway streams 16 bytes or more.
    if constexpr (kStore == Store::streaming && lanes() * sizeof(Raw) < 16) {
      const hn::ScalableTag<uint16_t> d;
      return hn::Stream(hn::Combine(d, bits.b, bits.a), d, to);
    }
#endif
    // In halves: joining them takes a cycle of the units that multiply.
    store_vector<kStore>(bits.a, DHalves(), to);
    store_vector<kStore>(bits.b, DHalves(), to + lanes());
  }

  static HWY_INLINE Block load(const Raw* from) { return unpack(read(from)); }
  static HWY_INLINE Block load_f32(const float* from) { return F32::load(from); }
  static HWY_INLINE void store_f32(Block v, float* to) { F32::store_f32(v, to); }
};

/// body(F16()), body(B()) or body(F32()): a float dtype as a type. B: BF16 or NativeBF16.
template <class B = BF16, class Body>
HWY_INLINE auto with_element(DType dtype, Body body) {
  switch (dtype) {
    case DType::f16:
      return body(F16());
    case DType::bf16:
      return body(B());
    default:
      return body(F32());
  }
}

/// Copies the first `count` elements of a block from or to memory that may end behind them: by
/// masks where the level has them, which costs a third of a copy of unknown length.
template <class T>
HWY_INLINE void copy_part_in(const T* from, size_t count, T* staged) {
#if HWY_TARGET <= HWY_AVX3
  const hn::ScalableTag<T> d;
  for (size_t i = 0; i < block(); i += hn::Lanes(d)) {
    const auto mask = hn::FirstN(d, count > i ? count - i : 0);
    hn::Store(hn::MaskedLoad(mask, d, from + i), d, staged + i);
  }
#else
  std::memcpy(staged, from, count * sizeof(T));
#endif
}
template <class T>
HWY_INLINE void copy_part_out(const T* staged, size_t count, T* to) {
#if HWY_TARGET <= HWY_AVX3
  const hn::ScalableTag<T> d;
  for (size_t i = 0; i < block(); i += hn::Lanes(d)) {
    const auto mask = hn::FirstN(d, count > i ? count - i : 0);
    hn::BlendedStore(hn::Load(d, staged + i), mask, d, to + i);
  }
#else
  std::memcpy(to, staged, count * sizeof(T));
#endif
}

/// The first `count` <= block() elements of a block; the rest reads as zero. A constant count of
/// block() is a plain load.
template <class E>
HWY_INLINE typename E::Packed read_part(const typename E::Raw* from, size_t count) {
  if (count == block()) return E::read(from);
  HWY_ALIGN typename E::Raw staged[block()] = {};
  copy_part_in(from, count, staged);
  return E::read(staged);
}

template <class E>
HWY_INLINE Block load_part(const typename E::Raw* from, size_t count) {
  return E::unpack(read_part<E>(from, count));
}

template <class E, Store kStore = Store::cached>
HWY_INLINE void write_part(typename E::Packed bits, typename E::Raw* to, size_t count) {
  if (count == block()) return E::template write<kStore>(bits, to);
  HWY_ALIGN typename E::Raw staged[block()];
  E::template write<Store::cached>(bits, staged);
  copy_part_out(staged, count, to);
}

template <class E, Store kStore = Store::cached>
HWY_INLINE void store_part(Block v, typename E::Raw* to, size_t count) {
  write_part<E, kStore>(E::pack(v), to, count);
}

/// Plain f32 memory to and from the block order of E, the same way.
template <class E>
HWY_INLINE Block load_f32_part(const float* from, size_t count) {
  if (count == block()) return E::load_f32(from);
  HWY_ALIGN float staged[block()] = {};
  copy_part_in(from, count, staged);
  return E::load_f32(staged);
}

template <class E>
HWY_INLINE void store_f32_part(Block v, float* to, size_t count) {
  if (count == block()) return E::store_f32(v, to);
  HWY_ALIGN float staged[block()];
  E::store_f32(v, staged);
  copy_part_out(staged, count, to);
}

/// The value that a store followed by a load would give.
template <class E>
HWY_INLINE Block round_to(Block v) {
  return E::unpack(E::pack(v));
}

enum class Cache { l1 = 3, l2 = 2 };  // as __builtin_prefetch counts

/// Asks a cache for the memory of one block. With the L2, the L1 cache stays with what is in use,
/// and its few miss slots stay free. Harmless past the end of a row.
template <Cache kCache = Cache::l2, class T>
HWY_INLINE void prefetch_block(const T* from) {
  constexpr size_t kLine = 64 / sizeof(T);
  for (size_t i = 0; i < block(); i += kLine) {
    __builtin_prefetch(from + i, 0, static_cast<int>(kCache));
  }
}

/// The same in a loop that stores by kStore. One that streams reads memory as fast as it writes it,
/// and requests get lost while many are under way: it asks kTimes for every line, at once or from
/// each block that has a part of it.
template <Store kStore, size_t kTimes = 4, class T>
HWY_INLINE void prefetch_block_beside(const T* from) {
  constexpr size_t kBlocksInLine = std::max<size_t>(1, 64 / (block() * sizeof(T)));
  constexpr size_t kTimesEach = std::max<size_t>(1, kTimes / kBlocksInLine);
  for (size_t i = 0; i < (kStore == Store::streaming ? kTimesEach : 1); ++i) prefetch_block(from);
}

/// Asks the L1 for a block of 16-bit elements. With f32 the hardware's own prefetching keeps up.
template <class T>
HWY_INLINE void prefetch_narrow_block(const T* from) {
  if constexpr (sizeof(T) < sizeof(float)) prefetch_block<Cache::l1>(from);
}

/// Calls body(i, count) for every block of [0, dim): count is block(), a constant to the compiler,
/// but for the last call when dim is no multiple of it; kWhole: it is one.
template <bool kWhole = false, class Body>
HWY_INLINE void for_blocks(int64_t dim, Body body) {
  constexpr int64_t kBlock = static_cast<int64_t>(block());
  int64_t i = 0;
  for (; i + kBlock <= dim; i += kBlock) body(i, block());
  if (!kWhole && i < dim) {
    Body copy = body;  // what body captures stays in registers, whether this call is inlined or not
    copy(i, static_cast<size_t>(dim - i));
  }
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
