// SPDX-License-Identifier: MIT
// How groups share rows (kernels/cuda), those that are too long for one above all: one tile each.
#pragma once

#include <optional>
#include <span>

#include "ops/plan.hpp"

namespace norite::ops {

/// A group's part of a row, and how many groups a compute unit holds at the same time, where it has
/// the memory.
struct TileShape {
  int64_t threads, vectors, groups_per_unit;
};

/// What a device has for groups that run at the same time.
struct GroupSpace {
  int64_t units;   // whose groups may wait for each other
  int64_t memory;  // bytes of threadgroup memory that a group may have, and a unit has

  /// What a group's stages may take.
  [[nodiscard]] int64_t usable() const;
  /// Groups of that shape that run on a unit, with so many bytes of stages each.
  [[nodiscard]] int64_t groups_per_unit(const TileShape& shape, int64_t group_memory) const;
};

struct LongPlan {
  Plan plan;  // without a grid
  TileShape tile;
  int64_t tiles;         // of a row: as many groups share it
  int64_t together;      // rows at once are a multiple of it, so that a group's begin alike
  int64_t group_memory;  // bytes of a group's stages
  /// Of tickets that groups take for rows; none where rows are dealt out in turn.
  int64_t counters = 0;
};

/// What the kernel keeps on its way and how its rows lie.
struct LongRowsLayout {
  int64_t dim, width;
  int64_t stages;    // tiles in a group's memory, of all operands
  GroupSpace space;  // the device's
  bool shifted;      // rows begin or end inside of packs
  bool apart;        // what lies beside x is read from memory
  bool alike;        // outputs begin at the same places in packs as x
};

/// Adds the macros of the shape that keeps most of a GPU busy, the first of several; nothing where
/// none fits. It follows from the layout and the device, so that a row has the same bits among any
/// others.
std::optional<LongPlan> plan_long(Plan plan, const LongRowsLayout& rows,
                                  std::span<const TileShape> shapes);

}  // namespace norite::ops
