// SPDX-License-Identifier: MIT
#pragma once

#include "rope/params.h"

/// One head of [tokens, heads, head_dim].
struct HeadIndex {
  long token;
  uint head;
};

/// Heads are numbered through the tokens. `from` is a group's first, found by the one division of
/// 64 bits; the others are counted from there in 32.
METAL_FUNC HeadIndex head_index(long row, uint heads) {
  HeadIndex index;
  index.token = row / heads;
  index.head = uint(row - index.token * heads);
  return index;
}

METAL_FUNC HeadIndex advance(HeadIndex from, uint count, uint heads) {
  const uint head = from.head + count;
  from.token += head / heads;
  from.head = head % heads;
  return from;
}

METAL_FUNC long head_offset(HeadIndex at, constant HeadStrides& strides) {
  return at.token * strides.token + at.head * strides.head;
}
