// SPDX-License-Identifier: MIT
// Rows move in packs of 16 bytes, the widest access a GPU thread has, and become f32 in registers.
// Where alignment forbids that, a pack is a single element.
#pragma once

#include <metal_stdlib>

#if READS_STAY
#include "cuda/staying_reads.h"
#endif

using namespace metal;

#if !READS_STAY
/// Where an operand is read from. One call for all packs of a thread: what is read through another
/// one has addresses of its own, in more registers.
template <typename T>
METAL_FUNC device const T* staying(device const T* from) {
  return from;
}
#endif

/// The elements of one 32-bit word: two of half or bfloat, one float.
template <typename T>
struct Word {
  enum : uint { kElements = 2 };
  typedef ushort Bits;  // of one element
  static float2 split(uint word) { return float2(as_type<vec<T, 2>>(word)); }
  static uint join(float2 elements) { return as_type<uint>(vec<T, 2>(elements)); }
};

/// A bfloat is the upper half of a float: one instruction an element.
template <>
struct Word<bfloat> {
  enum : uint { kElements = 2 };
  typedef ushort Bits;
  static float2 split(uint word) {
    return float2(as_type<float>(word << 16), as_type<float>(word & 0xffff0000u));
  }
  static uint join(float2 elements) { return as_type<uint>(bfloat2(elements)); }
};

template <>
struct Word<float> {
  enum : uint { kElements = 1 };
  typedef uint Bits;
  static float2 split(uint word) { return float2(as_type<float>(word), 0.0f); }
  static uint join(float2 elements) { return as_type<uint>(elements.x); }
};

/// kWidth values in f32.
template <uint kWidth>
struct Floats {
  float at[kWidth];
};

/// The widest access that divides kBytes.
template <uint kBytes>
struct Access {
  typedef uint4 Words;
};
template <>
struct Access<8> {
  typedef uint2 Words;
};

/// kWidth neighbouring elements as they lie in memory: 16 bytes, or 8 or 32 where the dtype is not
/// the one that the width was chosen for.
template <typename T, uint kWidth>
struct Pack {
  typedef typename Access<kWidth * sizeof(T)>::Words Words;
  enum : uint {
    kAccesses = kWidth * sizeof(T) / sizeof(Words),
    kWordsEach = sizeof(Words) / 4,
    kElements = Word<T>::kElements,
  };

  Words words[kAccesses];

  void load(device const T* from) {
    for (uint i = 0; i < kAccesses; ++i) words[i] = reinterpret_cast<device const Words*>(from)[i];
  }

  void store(device T* to) const {
    for (uint i = 0; i < kAccesses; ++i) reinterpret_cast<device Words*>(to)[i] = words[i];
  }

  uint word(uint i) const { return words[i / kWordsEach][i % kWordsEach]; }
  void set_word(uint i, uint value) { words[i / kWordsEach][i % kWordsEach] = value; }

  Floats<kWidth> floats() const {
    Floats<kWidth> result;
#pragma unroll
    for (uint i = 0; i < kWidth / kElements; ++i) {
      const float2 elements = Word<T>::split(word(i));
      for (uint k = 0; k < kElements; ++k) result.at[i * kElements + k] = elements[k];
    }
    return result;
  }

  /// Rounds each value once, to nearest even.
  void set(Floats<kWidth> values) {
#pragma unroll
    for (uint i = 0; i < kWidth / kElements; ++i) {
      const uint first = i * kElements;
      set_word(i, Word<T>::join(float2(values.at[first], values.at[first + kElements - 1])));
    }
  }
};

/// A single element, whatever its alignment.
template <typename T>
struct Pack<T, 1> {
  T element;

  void load(device const T* from) { element = *from; }
  void store(device T* to) const { *to = element; }
  Floats<1> floats() const {
    Floats<1> result;
    result.at[0] = float(element);
    return result;
  }
  void set(Floats<1> values) { element = T(values.at[0]); }
};

template <uint kWidth, typename T>
METAL_FUNC Floats<kWidth> load_floats(device const T* from) {
  Pack<T, kWidth> pack;
  pack.load(staying(from));
  return pack.floats();
}

template <uint kWidth, typename T>
METAL_FUNC void store_floats(Floats<kWidth> values, device T* to) {
  Pack<T, kWidth> pack;
  pack.set(values);
  pack.store(to);
}

template <uint kWidth>
METAL_FUNC Floats<kWidth> splat(float value) {
  Floats<kWidth> result;
  for (uint i = 0; i < kWidth; ++i) result.at[i] = value;
  return result;
}

template <uint kWidth>
METAL_FUNC Floats<kWidth> add(Floats<kWidth> a, Floats<kWidth> b) {
  for (uint i = 0; i < kWidth; ++i) a.at[i] += b.at[i];
  return a;
}

template <uint kWidth>
METAL_FUNC Floats<kWidth> multiply(Floats<kWidth> a, Floats<kWidth> b) {
  for (uint i = 0; i < kWidth; ++i) a.at[i] *= b.at[i];
  return a;
}

/// a * b + c
template <uint kWidth>
METAL_FUNC Floats<kWidth> multiply_add(Floats<kWidth> a, Floats<kWidth> b, Floats<kWidth> c) {
  for (uint i = 0; i < kWidth; ++i) c.at[i] = fma(a.at[i], b.at[i], c.at[i]);
  return c;
}

/// sum + a[0] * b[0] + a[1] * b[1] + ..., in order.
template <uint kWidth>
METAL_FUNC float add_products(Floats<kWidth> a, Floats<kWidth> b, float sum) {
  for (uint i = 0; i < kWidth; ++i) sum = fma(a.at[i], b.at[i], sum);
  return sum;
}
