// SPDX-License-Identifier: MIT
#include "ops/rope/head_norm_rope_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "ops/rope/head_layout.hpp"

namespace norite::ops {

namespace {

// Threads of a group. Shares of the copy bandwidth of an H200, without reads that stay, for 32768 x
// 32 heads of 128, 16384 x 16 of 256 and 8192 x 16 of 512; backward, dw included, with as many
// groups as there is room for:
//
//                           bf16                f32
//   forward, 64 threads     0.97  0.92  0.89    0.99  0.96  0.97
//   forward, 256            0.95  0.91  0.91    0.97  0.94
//   cached angles, 64       0.97  0.93  0.93    0.99  0.97  0.98
//   backward, 32            0.90  0.85  0.82    0.94  0.90  0.89
//   backward, 64            0.91  0.86  0.86    0.95  0.92  0.92
//   backward, 128           0.91  0.87  0.86    0.94  0.92  0.92
//   backward, 256           0.90  0.84  0.84
//
// The smaller the groups of the forward pass, the better they cover for each other, until each of
// them finds more angles than it has heads to turn by them.
constexpr int64_t kBackwardThreads = 128;

int64_t forward_threads(int64_t head_dim, DType dtype, bool cached) {
  return head_dim > 256 && size_of(dtype) == 2 && !cached ? 256 : 64;
}

/// Packs of 16 bytes where neither the halves of a head nor what rotates of it cuts one in two.
int64_t pair_width(int64_t head_dim, int64_t rotating, DType dtype, bool aligned) {
  const int64_t width = 16 / size_of(dtype);
  return aligned && head_dim / 2 % width == 0 && rotating % width == 0 ? width : 1;
}

/// Whether a lane's packs of one slot are half a head apart, and lanes and slots are halved as the
/// head is.
bool halves_meet(const HeadLayout& layout, uint32_t pairing) {
  return layout.whole &&
         (pairing == kPairHalfDim || (pairing == kPairHalfRope && layout.all_rotate));
}

bool heads_aligned(const Argument& operand, const HeadStrides& strides, int64_t pack_bytes = 16) {
  return is_aligned(operand, {strides.token, strides.head}, pack_bytes);
}

}  // namespace

Plan plan_head_norm_rope(const HeadNormRopeParams& params, std::span<const Argument> arguments) {
  const Argument& x = arguments[kHeadNormRopeX];
  const Argument& weight = arguments[kHeadNormRopeWeight];
  const Argument& copy = arguments[kHeadNormRopeCopy];
  const Argument& cos = arguments[kHeadNormRopeCos];
  const DType dtype = x.view().dtype();
  const int64_t copy_bytes =
      16 / size_of(dtype) * (copy.bound() ? size_of(copy.view().dtype()) : 0);
  const bool aligned = heads_aligned(x, params.x) && is_aligned(weight, {}) &&
                       heads_aligned(arguments[kHeadNormRopeY], params.y) &&
                       heads_aligned(copy, params.copy, copy_bytes);
  const HeadLayout layout =
      lay_out_heads({.heads = params.heads,
                     .head_dim = params.head_dim,
                     .rotating = params.half_rope_dim,
                     .width = pair_width(params.head_dim, params.half_rope_dim, dtype, aligned)},
                    forward_threads(params.head_dim, dtype, cos.bound()));
  const int64_t groups_per_token = layout.rounds(params.heads);
  // Lone elements are summed in an order of their own.
  const bool exchanges_sums =
      params.normalise != 0 && layout.width > 1 && !halves_meet(layout, params.pairing);
  const int64_t token_groups = (params.tokens - 1) / layout.tokens_at_once() + 1;
  Plan plan{.key = {"fused_head_norm_rope",
                    {{"X_TYPE", kernel_type(dtype)},
                     {"WEIGHT_TYPE", kernel_type(weight, x)},
                     {"COPY_TYPE", kernel_type(copy, x)},
                     {"HAS_WEIGHT", flag(weight.bound())},
                     {"WEIGHT_ONE_PLUS", flag(params.weight_mode == kWeightOnePlus)},
                     {"HAS_POSITIONS", flag(arguments[kHeadNormRopePositions].bound())},
                     {"HAS_FREQ_FACTORS", flag(arguments[kHeadNormRopeFreqFactors].bound())},
                     {"HAS_CACHE", flag(cos.bound())},
                     {"HAS_COPY", flag(copy.bound())},
                     {"NORMALISE", flag(params.normalise != 0)},
                     {"INTERLEAVED", flag(params.pairing == kPairInterleaved)},
                     {"EXCHANGES_SUMS", flag(exchanges_sums)},
                     {"GROUPS_PER_TOKEN", groups_per_token}}},
            .grid = {.groups = {token_groups * groups_per_token, 1, 1},
                     .threads = {layout.lanes, layout.teams, 1}}};
  layout.add_to(plan.key.macros);
  return plan;
}

Plan plan_head_norm_rope_backward(const HeadNormRopeBackwardParams& params,
                                  std::span<const Argument> arguments) {
  const Argument& x = arguments[kHeadNormRopeBackwardX];
  const Argument& weight = arguments[kHeadNormRopeBackwardWeight];
  const Argument& cos = arguments[kHeadNormRopeBackwardCos];
  const Argument& dw_partial = arguments[kHeadNormRopeBackwardDwPartial];
  const DType dtype = x.view().dtype();
  const bool aligned = heads_aligned(x, params.x) && is_aligned(weight, {}) &&
                       heads_aligned(arguments[kHeadNormRopeBackwardDy], params.dy) &&
                       heads_aligned(arguments[kHeadNormRopeBackwardDx], params.dx);
  const HeadLayout layout =
      lay_out_heads({.heads = params.heads,
                     .head_dim = params.head_dim,
                     .rotating = params.half_rope_dim,
                     .width = pair_width(params.head_dim, params.half_rope_dim, dtype, aligned)},
                    kBackwardThreads);
  const int64_t groups = dw_partial.bound() ? dw_partial.view().shape()[0]
                                            : (params.tokens - 1) / layout.tokens_at_once() + 1;

  Plan plan{
      .key = {"fused_head_norm_rope_backward",
              {{"X_TYPE", kernel_type(dtype)},
               {"WEIGHT_TYPE", kernel_type(weight, x)},
               {"HAS_WEIGHT", flag(weight.bound())},
               {"WEIGHT_ONE_PLUS", flag(params.weight_mode == kWeightOnePlus)},
               {"HAS_POSITIONS", flag(arguments[kHeadNormRopeBackwardPositions].bound())},
               {"HAS_FREQ_FACTORS", flag(arguments[kHeadNormRopeBackwardFreqFactors].bound())},
               {"HAS_CACHE", flag(cos.bound())},
               {"HAS_DX", flag(arguments[kHeadNormRopeBackwardDx].bound())},
               {"HAS_DW", flag(dw_partial.bound())},
               {"INTERLEAVED", flag(params.pairing == kPairInterleaved)}}},
      .grid = {.groups = {groups, 1, 1}, .threads = {layout.lanes, layout.teams, 1}}};
  layout.add_to(plan.key.macros);
  return plan;
}

namespace {

struct FrequencyPowers {
  float theta = 0;
  int64_t dim = 0;
  std::array<std::array<TwoFloats, kDigitValues>, kPairDigits> powers = {};
};

TwoFloats two_floats(double value) {
  const double finite = std::min<double>(value, std::numeric_limits<float>::max());
  const auto high = static_cast<float>(finite);
  return {high, static_cast<float>(finite - static_cast<double>(high))};
}

FrequencyPowers frequency_powers(float theta, int64_t dim) {
  FrequencyPowers found{.theta = theta, .dim = dim};
  double factor = 0.5 * std::numbers::inv_pi, step = 2.0;
  for (auto& powers : found.powers) {
    for (size_t value = 0; value < powers.size(); ++value) {
      const double exponent = -step * static_cast<double>(value) / static_cast<double>(dim);
      powers[value] = two_floats(factor * std::pow(static_cast<double>(theta), exponent));
    }
    factor = 1.0;
    step *= static_cast<double>(kDigitValues);
  }
  return found;
}

}  // namespace

// Powers take longer than the rest of the dispatch, and a model has one theta or two.
void set_frequency_powers(RopeAngleParams& params) {
  thread_local std::array<FrequencyPowers, 2> kept = {};
  auto found = std::ranges::find_if(kept, [&](const FrequencyPowers& powers) {
    return powers.theta == params.theta && powers.dim == params.frequency_dim;
  });
  if (found == kept.end()) {
    kept[1] = kept[0];
    kept[0] = frequency_powers(params.theta, params.frequency_dim);
    found = kept.begin();
  }
  for (size_t digit = 0; digit < kPairDigits; ++digit) {
    std::ranges::copy(found->powers[digit], params.powers[digit]);
  }
}

}  // namespace norite::ops
