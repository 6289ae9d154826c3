// SPDX-License-Identifier: MIT
// How threads share the rows of the kernels that walk them in tiles (kernels/common/tile.h).
#pragma once

#include <span>

#include "common/rows.h"
#include "ops/plan.hpp"

namespace norite::ops {

/// What a kernel can afford.
struct RowLimits {
  int64_t vectors = 4;     // packs that a thread holds of each operand, from a SIMD-group a row on
  int64_t short_row = 2;   // as many of a shorter row
  int64_t stretch = 0;     // as many where that saves half of the threads: 5120 columns, say
  int64_t group = 128;     // threads that a group of several rows aims for
  int64_t threads = 1024;  // most of a row: a longer one is looped
};

/// What rows move in.
struct RowPacks {
  int64_t width;  // elements of a pack
  bool shifted;   // rows begin or end inside of packs
};

struct RowPlan {
  RowPacks packs;
  int64_t vectors, threads, rows;  // packs of a thread, threads of a row, rows of a group
  bool looped;                     // the row is more than a tile

  /// VECTOR_WIDTH, SHIFTED, VECTORS_PER_THREAD, THREADS_PER_ROW, ROWS_PER_GROUP.
  void add_to(core::Macros& macros) const;
};

/// Packs of 16 bytes. Rows that are not `aligned` move one element at a time up to a length of
/// `most_lone`, and in packs of memory from there on.
RowPacks row_packs(int64_t dim, DType dtype, bool aligned, int64_t most_lone);

/// Depends on the row's length, its packs and the kernel alone.
RowPlan plan_rows(int64_t dim, RowPacks packs, const RowLimits& limits);

/// Whether rows with so many threads each leave most of a GPU idle.
bool are_few(int64_t rows, int64_t threads);

/// More threads for each row where `rows` of them are too few to fill a GPU. Only for kernels whose
/// sums do not depend on how many threads share a row (kernels/common/folded_sum.h).
RowPlan spread_rows(RowPlan plan, int64_t rows);

/// GROUPS_PER_ROW of a kernel whose groups each sum a whole row and write a share of it: as many as
/// have packs of every thread to write, eight at most and no more than `most_groups` in all.
int64_t groups_per_row(int64_t rows, int64_t vectors, int64_t most_groups);

/// ROW_DIMS: 1 where all rows lie evenly, which saves their addresses much arithmetic.
inline int row_dims(const RowDims& rows) { return rows.count[0] * rows.count[1] == 1 ? 1 : 3; }

/// An operand's rows.
struct RowPlace {
  const Argument& operand;
  const RowStrides& strides;
};

/// Whether rows that lie evenly begin at the same places in packs.
bool rows_alike(const RowPlace& a, const RowPlace& b);

/// Whether all of them begin with a pack; absent ones do.
bool rows_aligned(std::span<const RowPlace> places);

}  // namespace norite::ops
