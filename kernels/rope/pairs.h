// SPDX-License-Identifier: MIT
// A head as pairs of elements. LANES_PER_HEAD lanes of one SIMD-group share a head, and a lane
// holds SLOTS times VECTOR_WIDTH neighbouring pairs. Elements that do not rotate are paired up as
// well, so that every head is head_dim / 2 pairs, whatever the pairing and however many rotate.
#pragma once

#include "common/pack.h"
#include "norm/weight.h"
#include "rope/params.h"

typedef Floats<VECTOR_WIDTH> PackFloats;

/// The elements a[k] and b[k] of VECTOR_WIDTH pairs.
struct Pairs {
  PackFloats a, b;
};

/// Where the pairs of one slot lie in a head.
struct PairPlace {
  uint pair;    // the first
  bool exists;  // or this slot is past the head's end
  bool rotates;
  uint a, b;  // where its two packs begin
};

/// Slots never straddle the end of the head or of what rotates: the host chose VECTOR_WIDTH so.
METAL_FUNC PairPlace pair_place(uint slot, uint lane, uint head_dim, uint rotating, uint pairing) {
  PairPlace place;
  place.pair = (slot * LANES_PER_HEAD + lane) * VECTOR_WIDTH;
  place.exists = WHOLE_HEADS || place.pair < head_dim / 2;
  place.rotates = ALL_ROTATE || place.pair < rotating;
  if (INTERLEAVED) {
    place.a = 2 * place.pair;
    place.b = place.a + VECTOR_WIDTH;
  } else if (pairing == kPairHalfRope) {
    // What does not rotate begins at 2 * rotating; its first half meets its second.
    place.a = place.rotates ? place.pair : rotating + place.pair;
    place.b = place.pair + (place.rotates ? rotating : head_dim / 2);
  } else {
    place.a = place.pair;
    place.b = place.pair + head_dim / 2;
  }
  return place;
}

/// Interleaved pairs lie a, b, a, b, ... over both packs.
METAL_FUNC Pairs to_pairs(PackFloats first, PackFloats second) {
  Pairs pairs = {first, second};
  if (!INTERLEAVED || VECTOR_WIDTH == 1) return pairs;
  for (uint k = 0; k < VECTOR_WIDTH; ++k) {
    const uint even = 2 * k, odd = even + 1;
    pairs.a.at[k] = even < VECTOR_WIDTH ? first.at[even] : second.at[even - VECTOR_WIDTH];
    pairs.b.at[k] = odd < VECTOR_WIDTH ? first.at[odd] : second.at[odd - VECTOR_WIDTH];
  }
  return pairs;
}

/// The inverse: the two packs as they lie in memory.
METAL_FUNC Pairs to_packs(Pairs pairs) {
  Pairs packs = pairs;
  if (!INTERLEAVED || VECTOR_WIDTH == 1) return packs;
  for (uint k = 0; k < VECTOR_WIDTH; ++k) {
    const uint from = VECTOR_WIDTH / 2 + k / 2;
    packs.a.at[k] = k % 2 == 0 ? pairs.a.at[k / 2] : pairs.b.at[k / 2];
    packs.b.at[k] = k % 2 == 0 ? pairs.a.at[from] : pairs.b.at[from];
  }
  return packs;
}

/// Pairs as they lie in memory.
template <typename T>
struct PairPacks {
  Pack<T, VECTOR_WIDTH> a, b;

  void load(device const T* head, PairPlace place) {
    a.load(head + place.a);
    b.load(head + place.b);
  }
  Pairs pairs() const { return to_pairs(a.floats(), b.floats()); }
  Pairs weights() const { return to_pairs(weight_factors(a), weight_factors(b)); }
};

/// What a lane holds of a head: where, and the elements.
struct LanePlaces {
  PairPlace slots[SLOTS];

  void find(uint lane, uint head_dim, uint rotating, uint pairing) {
#pragma unroll
    for (uint i = 0; i < SLOTS; ++i) slots[i] = pair_place(i, lane, head_dim, rotating, pairing);
  }
};

template <typename T>
struct LanePacks {
  PairPacks<T> slots[SLOTS];

  void load(device const T* head, LanePlaces places) {
    head = staying(head);
#pragma unroll
    for (uint i = 0; i < SLOTS; ++i) {
      if (places.slots[i].exists) slots[i].load(head, places.slots[i]);
    }
  }
};

template <typename T>
METAL_FUNC void store_pairs(Pairs pairs, device T* head, PairPlace place) {
  const Pairs packs = to_packs(pairs);
  store_floats(packs.a, head + place.a);
  store_floats(packs.b, head + place.b);
}

METAL_FUNC Pairs multiply(Pairs v, Pairs w) {
  v.a = multiply(v.a, w.a);
  v.b = multiply(v.b, w.b);
  return v;
}

METAL_FUNC Pairs multiply(Pairs v, float factor) {
  v.a = multiply(v.a, splat<VECTOR_WIDTH>(factor));
  v.b = multiply(v.b, splat<VECTOR_WIDTH>(factor));
  return v;
}

/// v * w + c
METAL_FUNC Pairs multiply_add(Pairs v, Pairs w, Pairs c) {
  c.a = multiply_add(v.a, w.a, c.a);
  c.b = multiply_add(v.b, w.b, c.b);
  return c;
}

METAL_FUNC Pairs multiply_add(Pairs v, float factor, Pairs c) {
  c.a = multiply_add(v.a, splat<VECTOR_WIDTH>(factor), c.a);
  c.b = multiply_add(v.b, splat<VECTOR_WIDTH>(factor), c.b);
  return c;
}

METAL_FUNC float add_products(Pairs v, Pairs w, float sum) {
  return add_products(v.b, w.b, add_products(v.a, w.a, sum));
}

/// VECTOR_WIDTH neighbours, at a multiple of it.
METAL_FUNC PackFloats load_shared(threadgroup const float* from) {
  PackFloats result;
#if VECTOR_WIDTH % 4 == 0
  for (uint i = 0; i < VECTOR_WIDTH / 4; ++i) {
    const float4 four = reinterpret_cast<threadgroup const float4*>(from)[i];
    for (uint k = 0; k < 4; ++k) result.at[4 * i + k] = four[k];
  }
#else
  for (uint k = 0; k < VECTOR_WIDTH; ++k) result.at[k] = from[k];
#endif
  return result;
}

/// (a cos - b sin, b cos + a sin)
METAL_FUNC Pairs rotate(Pairs v, PackFloats cosines, PackFloats sines) {
  Pairs result;
  for (uint k = 0; k < VECTOR_WIDTH; ++k) {
    const float a = v.a.at[k], b = v.b.at[k], cos = cosines.at[k], sin = sines.at[k];
    result.a.at[k] = fma(-b, sin, a * cos);
    result.b.at[k] = fma(a, sin, b * cos);
  }
  return result;
}
