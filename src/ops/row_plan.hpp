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
  int64_t stretch = 0;     // as many where that saves half of the threads: 5120 columns, say
  int64_t group = 128;     // threads that a group of several rows aims for
  int64_t threads = 1024;  // most of a row: a longer one is looped
};

struct RowPlan {
  int64_t width, vectors, threads, rows;  // threads of a row, rows of a group
  bool looped;                            // the row is more than a tile

  /// VECTOR_WIDTH, VECTORS_PER_THREAD, THREADS_PER_ROW, ROWS_PER_GROUP.
  void add_to(core::Macros& macros) const;
};

/// Elements of a pack: 16 bytes if `aligned` says that rows allow it, else one.
int64_t pack_width(int64_t dim, DType dtype, bool aligned);

/// Depends on the row's length, the width and the kernel alone.
RowPlan plan_rows(int64_t dim, int64_t width, const RowLimits& limits);

/// Whether rows with so many threads each leave most of a GPU idle.
bool are_few(int64_t rows, int64_t threads);

/// More threads for each row where `rows` of them are too few to fill a GPU. Only for kernels whose
/// sums do not depend on how many threads share a row (kernels/common/row_sum.h).
RowPlan spread_rows(RowPlan plan, int64_t rows);

/// ROW_DIMS: 1 where all rows lie evenly, which saves their addresses much arithmetic.
int row_dims(const RowDims& rows);

/// An operand's rows.
struct RowPlace {
  const Argument& operand;
  const RowStrides& strides;
};

/// Whether all of them begin with a pack; absent ones do.
bool rows_aligned(std::span<const RowPlace> places);

}  // namespace norite::ops
