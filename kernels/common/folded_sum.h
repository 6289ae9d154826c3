// SPDX-License-Identifier: MIT
#pragma once

#include "common/row_sum.h"
#include "common/tile.h"

/// A row's sum of squares. It has the same bits however many threads share the row; shifted rows
/// have the same number of them always.
struct FoldedSum {
#if SHIFTED
  RowSum sum;

  void begin() { sum.begin(); }
  void add(uint v, PackFloats a, uint column, RowFrame frame) { sum.add(v, a, a, column, frame); }
  void end_tile(uint column, RowFrame frame) { sum.end_tile(column, frame); }
  float over_row(threadgroup float* exchange, uint index) {
    return row_sum(sum.sum, exchange, index);
  }
#else
  float packs[PACK_SUMS];

  void begin() {
    for (uint i = 0; i < PACK_SUMS; ++i) packs[i] = 0.0f;
  }
  void add(uint v, PackFloats a, uint, RowFrame) {
    packs[v % PACK_SUMS] = add_products(a, a, packs[v % PACK_SUMS]);
  }
  void end_tile(uint, RowFrame) {}
  float over_row(threadgroup float* exchange, uint index) {
    return folded_row_sum(packs, exchange, index);
  }
#endif
};
