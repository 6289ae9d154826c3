// SPDX-License-Identifier: MIT
#include "ops/norm/long_plan.hpp"

#include <algorithm>
#include <utility>

namespace norite::ops {

namespace {

/// What CUDA takes of every group, and the kernel's own exchange.
constexpr int64_t kReserved = 1024, kExchange = 512;
constexpr int64_t kSimdWidth = 32;

int64_t together(const LongRowsLayout& rows) { return rows.shifted ? rows.width : 1; }

/// A shifted row may reach into one pack more.
int64_t tiles_of(const LongRowsLayout& rows, const TileShape& shape) {
  const int64_t most = rows.dim + together(rows) - 1;
  return (most - 1) / (shape.threads * shape.vectors * rows.width) + 1;
}

/// All tiles of a row are.
bool is_whole(const LongRowsLayout& rows, const TileShape& shape) {
  return !rows.shifted && rows.dim % (shape.threads * shape.vectors * rows.width) == 0;
}

/// Bytes of a group's stages; a SIMD-group of shifted rows has a pack more in each
/// (kernels/cuda/tile_ring.h).
int64_t memory_of(const LongRowsLayout& rows, const TileShape& shape) {
  constexpr int64_t kPackBytes = 16;
  const int64_t more = rows.shifted ? shape.threads / kSimdWidth : 0;
  return rows.stages * (shape.threads * shape.vectors + more) * kPackBytes;
}

/// Of all threads that a GPU of an H200's size runs at once, the share that has columns of a row.
double busy_share(const LongRowsLayout& rows, const TileShape& shape) {
  constexpr int64_t kUnits = 132;
  const int64_t groups = kUnits * shape.groups_per_unit;
  const int64_t at_once = groups / tiles_of(rows, shape) / together(rows) * together(rows);
  const int64_t packs = groups * shape.threads * shape.vectors;
  return static_cast<double>(at_once * rows.dim) / static_cast<double>(packs * rows.width);
}

/// Whether all groups that wait for each other run at once on the device.
bool runs(const LongRowsLayout& rows, const TileShape& shape) {
  const int64_t groups =
      rows.space.units * rows.space.groups_per_unit(shape, memory_of(rows, shape));
  return groups / tiles_of(rows, shape) >= together(rows);
}

/// A lane awaits the sums of a tile or two. More tiles than this, as measured, cost more than they
/// keep busy; where all shapes have more, the one with the fewest is still better than reading a
/// row twice.
std::optional<TileShape> choose(const LongRowsLayout& rows, std::span<const TileShape> shapes) {
  const int64_t many_tiles = rows.shifted ? 36 : 48;
  std::optional<TileShape> best, largest;
  double best_share = 0;
  for (const TileShape& shape : shapes) {
    if (memory_of(rows, shape) > rows.space.usable() || !runs(rows, shape)) continue;
    if (!largest || tiles_of(rows, shape) < tiles_of(rows, *largest)) largest = shape;
    const double share = busy_share(rows, shape);
    if (tiles_of(rows, shape) > many_tiles || share <= best_share) continue;
    best = shape;
    best_share = share;
  }
  return best ? best : largest;
}

}  // namespace

int64_t GroupSpace::usable() const { return memory - kExchange; }

int64_t GroupSpace::groups_per_unit(const TileShape& shape, int64_t group_memory) const {
  return std::min(shape.groups_per_unit,
                  (memory + kReserved) / (group_memory + kReserved + kExchange));
}

std::optional<LongPlan> plan_long(Plan plan, const LongRowsLayout& rows,
                                  std::span<const TileShape> shapes) {
  const std::optional<TileShape> tile = choose(rows, shapes);
  if (!tile) return std::nullopt;
  const int64_t tiles = tiles_of(rows, *tile);
  plan.columns = rows.dim;
  plan.key.macros.add({{"VECTOR_WIDTH", rows.width},
                       {"VECTORS_PER_THREAD", tile->vectors},
                       {"THREADS_PER_ROW", tile->threads},
                       {"ROWS_PER_GROUP", 1},
                       {"ROWS_TOGETHER", together(rows)},
                       {"SUMS_PER_LANE", tiles > kSimdWidth ? 2 : 1},
                       {"SHIFTED", flag(rows.shifted)},
                       {"WHOLE", flag(is_whole(rows, *tile))},
                       {"APART", flag(rows.apart)},
                       {"ALIKE", flag(rows.alike)}});
  return LongPlan{.plan = std::move(plan),
                  .tile = *tile,
                  .tiles = tiles,
                  .together = together(rows),
                  .group_memory = memory_of(rows, *tile)};
}

}  // namespace norite::ops
