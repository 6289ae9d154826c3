// SPDX-License-Identifier: MIT
#include "ops/norm/rms_norm_plan.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/footprint.hpp"
#include "cuda/params.h"
#include "ops/rows.hpp"
#include "rope/params.h"

namespace norite::ops {

namespace {

std::array<RowPlace, 5> places_of(const RmsNormParams& params,
                                  std::span<const Argument> arguments) {
  return {{{arguments[kRmsNormX], params.x},
           {arguments[kRmsNormResidual], params.residual},
           {arguments[kRmsNormScale], params.scale},
           {arguments[kRmsNormSum], params.sum},
           {arguments[kRmsNormY], params.y}}};
}

std::array<RowPlace, 4> places_of(const RmsNormBackwardParams& params,
                                  std::span<const Argument> arguments) {
  return {{{arguments[kRmsNormBackwardX], params.x},
           {arguments[kRmsNormBackwardDy], params.dy},
           {arguments[kRmsNormBackwardDresidual], params.dresidual},
           {arguments[kRmsNormBackwardDx], params.dx}}};
}

/// Of rows that do not begin with packs, those that move one element at a time: up to here that is
/// faster. Two bytes an access are too few early.
int64_t most_lone(const RmsNormParams&, std::span<const Argument> arguments) {
  return arguments[kRmsNormX].view().dtype() == DType::f32 ? 4096 : 1000;
}

/// Shifted rows lie evenly, so that all of a group begin at the same place in a pack, as its
/// weights and its sums of dw do: they are a multiple of a pack apart.
int64_t most_lone(const RmsNormBackwardParams& params, std::span<const Argument> arguments) {
  if (row_dims(params.rows) > 1) return params.dim;
  return arguments[kRmsNormBackwardX].view().dtype() == DType::f32 ? 8192 : 1000;
}

/// x and weight have the same places in both passes.
template <class Params>
RowPacks packs_of(const Params& params, std::span<const Argument> arguments) {
  static_assert(int{kRmsNormX} == int{kRmsNormBackwardX} &&
                int{kRmsNormWeight} == int{kRmsNormBackwardWeight});
  const bool aligned =
      is_aligned(arguments[kRmsNormWeight], {}) && rows_aligned(places_of(params, arguments));
  return row_packs(params.dim, arguments[kRmsNormX].view().dtype(), aligned,
                   most_lone(params, arguments));
}

core::Macros macros_of(const RmsNormParams& params, std::span<const Argument> arguments) {
  const Argument& x = arguments[kRmsNormX];
  const Argument& weight = arguments[kRmsNormWeight];
  return {{"X_TYPE", kernel_type(x.view().dtype())},
          {"WEIGHT_TYPE", kernel_type(weight, x)},
          {"HAS_WEIGHT", flag(weight.bound())},
          {"WEIGHT_ONE_PLUS", flag(params.weight_mode == kWeightOnePlus)},
          {"ROUND_BEFORE_WEIGHT", flag(params.rounding == kRoundBeforeWeight)},
          {"HAS_RESIDUAL", flag(arguments[kRmsNormResidual].bound())},
          {"HAS_SCALE", flag(arguments[kRmsNormScale].bound())},
          {"HAS_Y", flag(arguments[kRmsNormY].bound())},
          {"HAS_RMS_INV", flag(arguments[kRmsNormRmsInv].bound())},
          {"ROW_DIMS", row_dims(params.rows)}};
}

core::Macros macros_of(const RmsNormBackwardParams& params, std::span<const Argument> arguments) {
  const Argument& x = arguments[kRmsNormBackwardX];
  const Argument& weight = arguments[kRmsNormBackwardWeight];
  return {{"X_TYPE", kernel_type(x.view().dtype())},
          {"WEIGHT_TYPE", kernel_type(weight, x)},
          {"HAS_WEIGHT", flag(weight.bound())},
          {"WEIGHT_ONE_PLUS", flag(params.weight_mode == kWeightOnePlus)},
          {"HAS_RMS_INV", flag(arguments[kRmsNormBackwardRmsInv].bound())},
          {"HAS_DRESIDUAL", flag(arguments[kRmsNormBackwardDresidual].bound())},
          {"HAS_DX", flag(arguments[kRmsNormBackwardDx].bound())},
          {"HAS_DW", flag(arguments[kRmsNormBackwardDwPartial].bound())},
          {"ROW_DIMS", row_dims(params.rows)}};
}

/// Four packs a thread keep enough bytes in flight. More of them lose 3 to 9 % beside a residual,
/// which takes registers as well, unless twice as many threads would have few each. A row has the
/// same bits with a residual and without, so that both have as many, or half as many in twice the
/// threads where these fold (kernels/common/folded_sum.h). Rows of more than 32 KiB are looped:
/// their second reading finds them in the nearest cache. Shifted rows cost a thread much that does
/// not depend on how many packs it has: it has as many as registers hold.
RowLimits rms_norm_limits(int64_t dim, RowPacks packs, std::span<const Argument> arguments) {
  const bool scale = arguments[kRmsNormScale].bound();
  const bool residual = arguments[kRmsNormResidual].bound();
  const int64_t group = scale ? 128 : 256;
  if (packs.width == 1) {
    const bool wide = arguments[kRmsNormX].view().dtype() == DType::f32;
    return {.vectors = dim > (wide ? 2304 : 288) ? 17 : 9, .group = 128};
  }
  if (packs.shifted) {
    return {.vectors = packs.width == 4 ? 9 : 10, .group = 128, .threads = 512};
  }
  if (dim > 2048 * packs.width) return {.vectors = 4, .group = group, .threads = 512};
  if (packs.width == 8) return {.vectors = 4, .stretch = dim > 8192 ? 6 : 0, .group = group};
  // Rows as long as heads are summed by a SIMD-group, as those are: fused heads have their bits.
  // Beyond 6144 columns, those without a residual lose up to 9 % in twice the threads.
  if (dim > kMaxHeadDim && dim <= 6144) return {.vectors = 4, .stretch = 5, .group = group};
  return {.vectors = 4, .stretch = residual ? 7 : 8, .group = group};
}

/// A thread holds x and dy of two rows, the weights and dw, which is f32: sixteen elements of each
/// are what it can keep in registers; of shifted rows, as many as leave a multiprocessor 256
/// threads.
RowLimits rms_norm_backward_limits(int64_t dim, RowPacks packs) {
  if (packs.width == 1) return {.vectors = dim > 4608 ? 16 : 9, .threads = 512};
  if (packs.shifted) return {.vectors = 5, .threads = 256};
  return {.vectors = 16 / packs.width, .threads = 512};
}

/// Beside a residual, threads of 16-bit rows do better with half as many packs, where as many more
/// of them leave a row's bits alone (kernels/common/folded_sum.h).
RowPlan plan_rms_norm_rows(int64_t dim, RowPacks packs, std::span<const Argument> arguments) {
  constexpr int64_t kMostThreads = 512;
  RowPlan rows = plan_rows(dim, packs, rms_norm_limits(dim, packs, arguments));
  if (arguments[kRmsNormResidual].bound() && packs.width == 8 && !packs.shifted && !rows.looped &&
      rows.vectors == 4 && 2 * rows.threads <= kMostThreads) {
    rows.vectors /= 2;
    rows.threads *= 2;
    rows.rows = std::max<int64_t>(1, rows.rows / 2);
  }
  return rows;
}

}  // namespace

RowPacks rms_norm_packs(const RmsNormParams& params, std::span<const Argument> arguments) {
  return packs_of(params, arguments);
}

namespace {

/// Whether a group may write its share of a row while others read the row: not in place. Of scale
/// it reads its share alone.
bool may_share_row(std::span<const Argument> arguments) {
  const Argument& y = arguments[kRmsNormY];
  return y.bound() && !arguments[kRmsNormResidual].bound() &&
         !core::may_meet(arguments[kRmsNormX].view(), y.view());
}

}  // namespace

Plan plan_rms_norm(const RmsNormParams& params, std::span<const Argument> arguments,
                   RowPacks packs) {
  // As measured: more of them lose by reading whole rows what they save by writing shares.
  constexpr int64_t kMostGroups = 32;
  const int64_t count = row_count(params.rows);
  const RowPlan rows = spread_rows(plan_rms_norm_rows(params.dim, packs, arguments), count);
  const bool in_packs = packs.width > 1 && !packs.shifted;
  const bool shares = rows.rows == 1 && !rows.looped && in_packs && may_share_row(arguments);
  const int64_t groups = shares ? groups_per_row(count, rows.vectors, kMostGroups) : 1;
  Plan plan{.key = {"rms_norm", macros_of(params, arguments)},
            .grid = groups_of(count * groups, rows.rows, rows.rows * rows.threads),
            .columns = params.dim};
  plan.key.macros.add({{"LOOPED", flag(rows.looped)}, {"GROUPS_PER_ROW", groups}});
  rows.add_to(plan.key.macros);
  return plan;
}

RowPlan rms_norm_backward_rows(const RmsNormBackwardParams& params,
                               std::span<const Argument> arguments) {
  const RowPacks packs = packs_of(params, arguments);
  return plan_rows(params.dim, packs, rms_norm_backward_limits(params.dim, packs));
}

int64_t rms_norm_backward_groups(const RmsNormBackwardParams& params,
                                 std::span<const Argument> arguments, const RowPlan& rows) {
  const bool has_dw = arguments[kRmsNormBackwardDwPartial].bound();
  const int64_t each = has_dw ? params.rows_per_partial : rows.rows;
  const int64_t groups = (row_count(params.rows) - 1) / each + 1;
  const int64_t alike = rows.packs.shifted ? rows.packs.width : 1;
  // No more than run at once, where each has a partial.
  const int64_t fewer = groups / alike * alike;
  return fewer == groups || (has_dw && fewer > 0) ? fewer : fewer + alike;
}

Plan plan_rms_norm_backward(const RmsNormBackwardParams& params,
                            std::span<const Argument> arguments, const RowPlan& rows) {
  Plan plan{.key = {"rms_norm_backward", macros_of(params, arguments)},
            .grid = {.groups = {rms_norm_backward_groups(params, arguments, rows), 1, 1},
                     .threads = {rows.rows * rows.threads, 1, 1}},
            .columns = params.dim};
  plan.key.macros.add({{"LOOPED", flag(rows.looped)}});
  rows.add_to(plan.key.macros);
  return plan;
}

int64_t rms_norm_backward_groups_per_unit(const RowPlan& rows) {
  const int64_t threads = rows.packs.shifted ? 256 : 512;  // with 256 and 128 registers each
  return std::max<int64_t>(1, threads / (rows.rows * rows.threads));
}

namespace {

/// `other`: beside x, or absent.
template <class Params>
LongRowsLayout long_layout(const Params& params, std::span<const Argument> arguments, bool shifted,
                           const RowPlace& other, std::initializer_list<RowPlace> outputs,
                           int64_t stages, const GroupSpace& space) {
  const Argument& x = arguments[kRmsNormX];
  const auto lies_as_x = [&](const RowPlace& place) {
    return !place.operand.bound() || rows_alike({x, params.x}, place);
  };
  return {.dim = params.dim,
          .width = 16 / size_of(x.view().dtype()),
          .stages = stages,
          .space = space,
          .shifted = shifted,
          .apart = shifted && !lies_as_x(other),
          .alike = !shifted || std::ranges::all_of(outputs, lies_as_x)};
}

/// Up to here, a group does better with a row of its own, even if it reads it twice; of shifted
/// rows, if it holds it in registers.
constexpr int64_t kPacksAlone = 4096, kShiftedPacksAlone = 1280;

/// A group that keeps a row to itself.
struct StagedShape {
  int64_t threads, vectors;  // packs of a thread

  int64_t memory() const { return vectors * threads * 16; }
};

/// The smallest group that does well: two of 512 threads on a multiprocessor, or one of 1024. Both
/// leave the nearest cache enough for weights. Many rows that two of 512 threads would have too few
/// bytes of in flight have four of 256, with the same bits: eight packs stand for four of twice the
/// threads. More than six of the eight are there, as the kernel expects (SURE_PACKS).
std::optional<StagedShape> staged_shape(int64_t packs, int64_t rows, int64_t memory) {
  constexpr int64_t kMostVectors = 12;
  constexpr StagedShape kQuarter = {256, 8};
  if (packs <= kQuarter.threads * kQuarter.vectors && 4 * kQuarter.memory() <= memory &&
      !are_few(rows, 2 * kQuarter.threads)) {
    return kQuarter;
  }
  const auto shape = [&](int64_t threads) -> StagedShape {
    return {threads, (packs - 1) / threads + 1};
  };
  const StagedShape half = shape(512), whole = shape(1024);
  if (half.vectors <= kMostVectors && 2 * half.memory() <= memory) return half;
  if (whole.vectors <= kMostVectors && whole.memory() <= memory) return whole;
  return std::nullopt;
}

}  // namespace

std::optional<Plan> plan_rms_norm_staged(const RmsNormParams& params,
                                         std::span<const Argument> arguments, RowPacks of,
                                         const GroupSpace& space) {
  const auto [width, shifted] = of;
  const int64_t packs = params.dim / width, in_registers = width == 4 ? 2048 : 1536;
  if (width == 1 || shifted || packs <= in_registers) return std::nullopt;
  const int64_t rows = row_count(params.rows);
  const auto shape = staged_shape(packs, rows, space.usable());
  if (!shape) return std::nullopt;
  // As measured: of the shorter rows, groups on half of the units read as fast as on all of them.
  constexpr int64_t kFewPacks = 3072;
  const int64_t most_groups = packs > kFewPacks ? space.units : space.units / 2;
  const int64_t groups =
      may_share_row(arguments) ? groups_per_row(rows, shape->vectors, most_groups) : 1;
  // Few rows wait for their weights last: registers hold some of them, with the same bits.
  const RowPlan held = plan_rms_norm_rows(params.dim, of, arguments);
  if (groups == 1 && !held.looped && held.threads == shape->threads &&
      are_few(rows, held.threads)) {
    return std::nullopt;
  }
  Plan plan{.key = {"rms_norm_staged", macros_of(params, arguments)},
            .grid = {.groups = {rows * groups, 1, 1},
                     .threads = {shape->threads, 1, 1},
                     .threadgroup_memory = {shape->memory()}},
            .columns = params.dim};
  plan.key.macros.add({{"VECTOR_WIDTH", width},
                       {"VECTORS_PER_THREAD", shape->vectors},
                       {"THREADS_PER_ROW", shape->threads},
                       {"ROWS_PER_GROUP", 1},
                       {"GROUPS_PER_ROW", groups}});
  return plan;
}

namespace {

std::span<const TileShape> forward_shapes(const LongRowsLayout& rows) {
  // With a residual, f32 rows that begin anywhere have 0.73 to 0.87 of the bandwidth of a copy on
  // an H200 in groups of 192 threads, and 0.90 to 0.98 in those of 160.
  static constexpr std::array<TileShape, 1> kWide = {{{512, 2, 3}}}, kNarrow = {{{256, 4, 3}}},
                                            kWideShifted = {{{160, 5, 3}}};
  static constexpr std::array<TileShape, 3> kNarrowShifted = {
      {{192, 6, 2}, {160, 5, 3}, {192, 5, 2}}};
  if (!rows.shifted) return rows.width == 4 ? kWide : kNarrow;
  return rows.width == 4 ? std::span<const TileShape>(kWideShifted) : kNarrowShifted;
}

/// What a step does about the sums of the next row, as measured. Many groups that awaited them
/// would all wait for the slowest; f32 rows are best left alone.
RmsNormLongAhead ahead_of(const LongRowsLayout& rows) {
  constexpr int64_t kManyColumns = 163840;
  if (rows.shifted) return kAheadAsks;
  if (rows.width == 4) return kAheadNothing;
  return rows.dim > kManyColumns ? kAheadAsks : kAheadAwaits;
}

/// One tile more that waits for its row's sums, where that costs no groups.
int64_t plain_stages(const LongPlan& plan, const GroupSpace& space) {
  const int64_t more = plan.group_memory / kRmsNormLongStages * kRmsNormLongPlainStages;
  const int64_t groups = space.groups_per_unit(plan.tile, plan.group_memory);
  return space.groups_per_unit(plan.tile, more) == groups ? kRmsNormLongPlainStages
                                                          : kRmsNormLongStages;
}

/// Whether groups with so much memory do better without a residual in it: one that is alone on its
/// multiprocessor leaves it idle while it waits, and rows that begin anywhere want the nearest
/// cache, which is what groups leave of the memory. They read the ends of their accesses twice.
bool leaves_no_room(const LongPlan& plan, const LongRowsLayout& rows) {
  constexpr int64_t kCache = 24 << 10;
  const int64_t groups = rows.space.groups_per_unit(plan.tile, plan.group_memory);
  return groups < 2 || (rows.shifted && groups * plan.group_memory > rows.space.memory - kCache);
}

}  // namespace

std::optional<LongPlan> plan_rms_norm_long(const RmsNormParams& params,
                                           std::span<const Argument> arguments, RowPacks packs,
                                           const GroupSpace& space, Beside beside) {
  const Argument& residual = arguments[kRmsNormResidual];
  // Those of x alone: a row has the same tiles, and bits, with a residual and as a sum made before.
  LongRowsLayout rows =
      long_layout(params, arguments, packs.shifted, {residual, params.residual},
                  {{arguments[kRmsNormSum], params.sum}, {arguments[kRmsNormY], params.y}},
                  kRmsNormLongStages, space);
  if (beside == Beside::from_memory) rows.apart = true;
  const int64_t alone = rows.shifted ? kShiftedPacksAlone : kPacksAlone;
  if (params.dim <= alone * rows.width) return std::nullopt;
  if (rows.shifted && row_dims(params.rows) > 1) return std::nullopt;
  auto plan = plan_long({.key = {"rms_norm_long", macros_of(params, arguments)}, .grid = {}}, rows,
                        forward_shapes(rows));
  if (!plan) return std::nullopt;
  const bool plain = !residual.bound() && !arguments[kRmsNormScale].bound();
  const int64_t stages = plain && rows.shifted ? plain_stages(*plan, space) : kRmsNormLongStages;
  const bool beside_x = residual.bound() && !rows.apart;
  const int64_t all_stages = stages + (beside_x ? kRmsNormLongResidualStages : 0);
  plan->group_memory = plan->group_memory / kRmsNormLongStages * all_stages;
  if (beside_x && leaves_no_room(*plan, rows)) return std::nullopt;
  plan->counters = plan->tiles * plan->together;
  plan->plan.key.macros.add({{"AHEAD", int64_t{ahead_of(rows)}}, {"STAGES", stages}});
  return plan;
}

namespace {

/// A row in threadgroup memory, the next one beside it: the smallest tile that holds it. Only
/// 16-bit rows gain: in registers they keep half the bytes in flight.
const TileShape* staged_tile(int64_t packs) {
  static constexpr std::array<TileShape, 13> kTiles = {{{32, 2, 16},
                                                        {32, 3, 16},
                                                        {64, 2, 8},
                                                        {64, 3, 8},
                                                        {128, 2, 4},
                                                        {64, 5, 6},
                                                        {128, 3, 3},
                                                        {256, 2, 2},
                                                        {128, 5, 2},
                                                        {256, 3, 2},
                                                        {256, 4, 2},
                                                        {512, 3, 1},
                                                        {512, 4, 1}}};
  for (const TileShape& tile : kTiles) {
    if (packs <= tile.threads * tile.vectors) return &tile;
  }
  return nullptr;
}

/// A pack of a 16-bit row has twice the sums of dw, and a thread with a residual's gradient holds
/// more yet. Small groups wait less for each other.
std::span<const TileShape> backward_shapes(const LongRowsLayout& rows, bool has_dresidual) {
  static constexpr std::array<TileShape, 3> kWideShifted = {{{192, 6, 2}, {128, 6, 3}, {64, 6, 8}}};
  static constexpr std::array<TileShape, 3> kNarrowShifted = {{{96, 6, 4}, {64, 6, 6}, {64, 5, 6}}};
  static constexpr std::array<TileShape, 1> kNarrowShiftedDresidual = {{{64, 4, 5}}};
  static constexpr std::array<TileShape, 5> kWide = {
      {{256, 4, 2}, {256, 3, 3}, {64, 5, 7}, {512, 4, 1}, {192, 6, 2}}};
  static constexpr std::array<TileShape, 5> kNarrow = {
      {{64, 6, 6}, {64, 5, 7}, {64, 4, 8}, {128, 4, 4}, {256, 4, 2}}};
  static constexpr std::array<TileShape, 3> kNarrowDresidual = {
      {{64, 4, 6}, {128, 4, 3}, {256, 4, 1}}};
  if (rows.width == 4) {
    return rows.shifted ? std::span<const TileShape>(kWideShifted) : kWide;
  }
  if (rows.shifted) {
    return has_dresidual ? std::span<const TileShape>(kNarrowShiftedDresidual) : kNarrowShifted;
  }
  return has_dresidual ? std::span<const TileShape>(kNarrowDresidual) : kNarrow;
}

}  // namespace

std::optional<LongPlan> plan_rms_norm_backward_long(const RmsNormBackwardParams& params,
                                                    std::span<const Argument> arguments,
                                                    RowPacks packs, const GroupSpace& space) {
  constexpr int64_t kWideAlone = 8192, kNarrowAlone = 256, kOperands = 2;
  if (packs.width == 1) return std::nullopt;
  LongRowsLayout rows = long_layout(
      params, arguments, packs.shifted, {arguments[kRmsNormBackwardDy], params.dy},
      {{arguments[kRmsNormBackwardDx], params.dx}}, kOperands * kRmsNormBackwardLongStages, space);
  const bool narrow = rows.width == 8 && !rows.shifted;
  if (params.dim <= (narrow ? kNarrowAlone : kWideAlone)) return std::nullopt;
  const core::Macros macros = macros_of(params, arguments);
  const TileShape* const tile = narrow ? staged_tile(params.dim / rows.width) : nullptr;
  if (tile != nullptr) {
    LongRowsLayout staged = rows;
    staged.stages = kOperands * kRmsNormBackwardStagedRows;
    auto plan =
        plan_long({.key = {"rms_norm_backward_staged", macros}, .grid = {}}, staged, {tile, 1});
    if (plan) return plan;
  }
  auto plan = plan_long({.key = {"rms_norm_backward_long", macros}, .grid = {}}, rows,
                        backward_shapes(rows, arguments[kRmsNormBackwardDresidual].bound()));
  constexpr int64_t kTilesThatAsk = 25;
  if (plan) {
    plan->plan.key.macros.add({{"ASKS", flag(rows.shifted && plan->tiles >= kTilesThatAsk)}});
  }
  return plan;
}

Plan plan_sum_partials(const SumPartialsParams& params, std::span<const Argument> arguments) {
  // A thread has sixteen loads and more under way. Groups are narrow where columns are few, so that
  // there are enough of them: eight floats are one sector of memory.
  constexpr int64_t kLoads = 16, kMostStrips = 64, kManyColumns = 4096;
  constexpr int64_t kFewestThreads = 256, kMostThreads = 1024;
  const auto enough = static_cast<uint64_t>(std::max<int64_t>(1, params.partials / kLoads));
  const int64_t strips = std::min(kMostStrips, static_cast<int64_t>(std::bit_floor(enough)));
  const int64_t narrow = params.dim < kManyColumns ? 8 : 32;
  const int64_t columns = std::clamp(narrow, kFewestThreads / strips, kMostThreads / strips);
  return {.key = {"sum_partials",
                  {{"OUT_TYPE", kernel_type(arguments[kSumPartialsOut].view().dtype())},
                   {"COLUMNS", columns},
                   {"STRIPS", strips}}},
          .grid = groups_of(params.dim, columns, columns * strips),
          .columns = params.dim};
}

}  // namespace norite::ops
