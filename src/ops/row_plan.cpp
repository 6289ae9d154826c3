// SPDX-License-Identifier: MIT
#include "ops/row_plan.hpp"

#include <algorithm>
#include <bit>

namespace norite::ops {

namespace {

constexpr int64_t kSimdWidth = 32;
constexpr int64_t kMinThreads = 4;

}  // namespace

void RowPlan::add_to(core::Macros& macros) const {
  macros.add({{"VECTOR_WIDTH", packs.width},
              {"SHIFTED", flag(packs.shifted)},
              {"VECTORS_PER_THREAD", vectors},
              {"THREADS_PER_ROW", threads},
              {"ROWS_PER_GROUP", rows}});
}

RowPacks row_packs(int64_t dim, DType dtype, bool aligned, int64_t most_lone) {
  const int64_t width = 16 / size_of(dtype);
  if (aligned && dim % width == 0) return {width, false};
  return dim <= most_lone ? RowPacks{1, false} : RowPacks{width, true};
}

// Packs of a row, and who holds them (limits.vectors = 4, short_row = 2):
//
//   packs         8   16   32   64  128  256  512  1024  2048  4096  more
//   threads       4    8   16   32   32   64  128   256   512  1024  1024, looped
//   packs each    2    2    2    2    4    4    4     4     4     4     4
//
// A few packs a thread keep enough bytes in flight; many threads with one pack each do not, and a
// group of more threads waits longer for its slowest. Shifted rows have a SIMD-group at least, and
// may reach into one pack more.
RowPlan plan_rows(int64_t dim, RowPacks of, const RowLimits& limits) {
  const int64_t packs = (dim - 1 + (of.shifted ? of.width - 1 : 0)) / of.width + 1;
  int64_t threads = of.shifted ? kSimdWidth : kMinThreads;
  const int64_t few = of.width == 1 ? limits.vectors : limits.short_row;
  while (threads < kSimdWidth && packs > threads * few) threads *= 2;
  while (threads < limits.threads && packs > threads * limits.vectors) threads *= 2;
  int64_t most = limits.vectors;
  // A little more for each thread, where twice as many would leave places empty.
  if (threads > kSimdWidth && packs <= threads / 2 * limits.stretch) {
    threads /= 2;
    most = limits.stretch;
  }
  const int64_t vectors = std::min((packs - 1) / threads + 1, most);
  return {.packs = of,
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
  constexpr int64_t kMostThreads = 256;
  const int64_t fewest_vectors = plan.packs.width == 4 ? 4 : 2;
  if (plan.packs.shifted || plan.looped || plan.threads < kSimdWidth ||
      !are_few(rows, plan.threads))
    return plan;
  plan.rows = 1;
  const bool folds = std::has_single_bit(static_cast<uint64_t>(plan.vectors));
  while (folds && plan.vectors > fewest_vectors && 2 * plan.threads <= kMostThreads) {
    plan.threads *= 2;
    plan.vectors /= 2;
  }
  return plan;
}

int64_t groups_per_row(int64_t rows, int64_t vectors, int64_t most_groups) {
  constexpr int64_t kMost = 8;
  const int64_t most = std::min({vectors, most_groups / rows, kMost});
  if (most <= 1) return 1;
  // Powers of two, so that a batch that grows asks for few kernels.
  const auto groups = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most)));
  const int64_t each = (vectors - 1) / groups + 1;
  return (vectors - 1) / each + 1;
}

bool rows_alike(const RowPlace& a, const RowPlace& b) {
  const auto begin = [](const RowPlace& place) { return begin_in_pack(place.operand); };
  const auto step = [](const RowPlace& place) {
    return place.strides.stride[2] * size_of(place.operand.view().dtype()) % 16;
  };
  return begin(a) == begin(b) && step(a) == step(b);
}

bool rows_aligned(std::span<const RowPlace> places) {
  return std::all_of(places.begin(), places.end(), [](const RowPlace& place) {
    const auto& stride = place.strides.stride;
    return is_aligned(place.operand, {stride[0], stride[1], stride[2]});
  });
}

}  // namespace norite::ops
