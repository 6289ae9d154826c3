// SPDX-License-Identifier: MIT
#include "ops/norm/long_plan.hpp"

#include <utility>

namespace norite::ops {

namespace {

int64_t tiles_of(const LongRowsLayout& rows, const TileShape& shape) {
  return (rows.dim - 1) / (shape.threads * shape.vectors * rows.width) + 1;
}

/// Of all threads that a GPU of an H200's size runs at once, the share that has columns of a row.
double busy_share(const LongRowsLayout& rows, const TileShape& shape) {
  constexpr int64_t kUnits = 132;
  const int64_t groups = kUnits * shape.groups_per_unit;
  const int64_t at_once = groups / tiles_of(rows, shape);
  const int64_t packs = groups * shape.threads * shape.vectors;
  return static_cast<double>(at_once * rows.dim) / static_cast<double>(packs * rows.width);
}

/// A lane awaits the sums of a tile or two. More tiles cost more than they keep busy.
TileShape choose(const LongRowsLayout& rows, std::span<const TileShape> shapes) {
  constexpr int64_t kManyTiles = 36;
  TileShape best = shapes.back();
  double best_share = 0;
  for (const TileShape& shape : shapes) {
    const double share = busy_share(rows, shape);
    if (tiles_of(rows, shape) > kManyTiles || share <= best_share) continue;
    best = shape;
    best_share = share;
  }
  return best;
}

}  // namespace

LongPlan plan_long(Plan plan, const LongRowsLayout& rows, std::span<const TileShape> shapes) {
  constexpr int64_t kPackBytes = 16;
  const TileShape tile = choose(rows, shapes);
  const int64_t packs = tile.threads * tile.vectors;
  // kernels/cuda/tile_ring.h: what shifted rows take more, and where they go out.
  const int64_t ring = rows.staged * rows.stages * (packs + flag(rows.shifted));
  const int64_t exit = rows.shifted ? packs + 2 : 0;
  plan.columns = rows.dim;
  plan.macros.add({{"VECTOR_WIDTH", rows.width},
                   {"VECTORS_PER_THREAD", tile.vectors},
                   {"THREADS_PER_ROW", tile.threads},
                   {"ROWS_PER_GROUP", 1},
                   {"SHIFTED", flag(rows.shifted)}});
  return {.plan = std::move(plan),
          .tile = tile,
          .tiles = tiles_of(rows, tile),
          .group_memory = (ring + exit) * kPackBytes};
}

}  // namespace norite::ops
