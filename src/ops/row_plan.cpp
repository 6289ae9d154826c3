// SPDX-License-Identifier: MIT
#include "ops/row_plan.hpp"

#include <algorithm>
#include <bit>

namespace norite::ops {

namespace {

constexpr int64_t kSimdWidth = 32;
constexpr int64_t kMinThreads = 4;
constexpr int64_t kShortRowVectors = 2;

}  // namespace

void RowPlan::add_to(core::Macros& macros) const {
  macros.add({{"VECTOR_WIDTH", width},
              {"VECTORS_PER_THREAD", vectors},
              {"THREADS_PER_ROW", threads},
              {"ROWS_PER_GROUP", rows}});
}

int64_t pack_width(int64_t dim, DType dtype, bool aligned) {
  const int64_t width = 16 / size_of(dtype);
  return aligned && dim % width == 0 ? width : 1;
}

// Packs of a row, and who holds them (limits.vectors = 4):
//
//   packs         8   16   32   64  128  256  512  1024  2048  4096  more
//   threads       4    8   16   32   32   64  128   256   512  1024  1024, looped
//   packs each    2    2    2    2    4    4    4     4     4     4     4
//
// A few packs a thread keep enough bytes in flight; many threads with one pack each do not, and a
// group of more threads waits longer for its slowest.
RowPlan plan_rows(int64_t dim, int64_t width, const RowLimits& limits) {
  const int64_t packs = (dim - 1) / width + 1;
  int64_t threads = kMinThreads;
  while (threads < kSimdWidth && packs > threads * kShortRowVectors) threads *= 2;
  while (threads < limits.threads && packs > threads * limits.vectors) threads *= 2;
  int64_t most = limits.vectors;
  // A little more for each thread, where twice as many would leave places empty.
  if (threads > kSimdWidth && packs <= threads / 2 * limits.stretch) {
    threads /= 2;
    most = limits.stretch;
  }
  const int64_t vectors = std::min((packs - 1) / threads + 1, most);
  return {.width = width,
          .vectors = vectors,
          .threads = threads,
          .rows = std::max<int64_t>(1, limits.group / threads),
          .looped = packs > threads * vectors};
}

bool are_few(int64_t rows, int64_t threads) {
  constexpr int64_t kThreads = 32768;
  return rows <= kThreads / threads;
}

RowPlan spread_rows(RowPlan plan, int64_t rows) {
  constexpr int64_t kMostThreads = 256, kFewestVectors = 2;
  if (plan.looped || plan.threads < kSimdWidth || !are_few(rows, plan.threads)) return plan;
  plan.rows = 1;
  const bool folds = std::has_single_bit(static_cast<uint64_t>(plan.vectors));
  while (folds && plan.vectors > kFewestVectors && 2 * plan.threads <= kMostThreads) {
    plan.threads *= 2;
    plan.vectors /= 2;
  }
  return plan;
}

int row_dims(const RowDims& rows) { return rows.count[0] * rows.count[1] == 1 ? 1 : 3; }

bool rows_aligned(std::span<const RowPlace> places) {
  return std::all_of(places.begin(), places.end(), [](const RowPlace& place) {
    const auto& stride = place.strides.stride;
    return is_aligned(place.operand, {stride[0], stride[1], stride[2]});
  });
}

}  // namespace norite::ops
