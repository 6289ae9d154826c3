// SPDX-License-Identifier: MIT
#include "ops/rope/head_norm_rope_plan.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace norite::ops {

namespace {

/// Of a group; the backward pass, which holds twice as much, takes half of them.
constexpr int64_t kThreads = 128;
/// Angles that a table may hold, 16 bytes each with its double, and better does not pass.
constexpr int64_t kMaxTableSize = 1024, kGoodTableSize = 512;

/// How the lanes of a SIMD-group share a head (kernels/rope/pairs.h), and a group's teams of lanes
/// the heads (kernels/rope/head_walk.h).
struct HeadPlan {
  int64_t width, lanes, slots;
  int64_t teams, head_step;  // heads of a group at once, of them of one token
  int64_t tokens;            // whose angles are in a table
  bool whole, all_rotate;

  int64_t threads() const { return teams * lanes; }
  int64_t pairs() const { return lanes * slots * width; }
  int64_t token_step() const { return teams / head_step; }
  void add_to(core::Macros& macros) const {
    macros.add({{"VECTOR_WIDTH", width},
                {"LANES_PER_HEAD", lanes},
                {"SLOTS", slots},
                {"HEADS_PER_GROUP", teams},
                {"HEAD_STEP", head_step},
                {"TOKEN_STEP", token_step()},
                {"TOKENS_AT_ONCE", tokens},
                {"WHOLE_HEADS", flag(whole)},
                {"ALL_ROTATE", flag(all_rotate)}});
  }
};

/// A lane holds both packs of a slot. One slot is enough up to 32 lanes; lone elements take all
/// lanes, and slots by powers of two, so that there are few forms of the kernel.
HeadPlan plan_heads(int64_t heads, int64_t head_dim, int64_t rotating, int64_t width,
                    int64_t threads) {
  const auto packs = static_cast<uint64_t>(std::max<int64_t>(1, head_dim / 2 / width));
  const auto filled = static_cast<int64_t>(std::bit_ceil(packs));
  HeadPlan plan = {};
  plan.width = width;
  plan.lanes = width == 1 ? 32 : std::clamp<int64_t>(filled, 4, 32);
  plan.slots = std::max<int64_t>(1, filled / plan.lanes);
  plan.whole = 2 * plan.lanes * plan.slots * width == head_dim;
  plan.all_rotate = 2 * rotating == head_dim;
  plan.teams = 2 * threads / plan.lanes;
  do {
    plan.teams /= 2;
    plan.head_step = std::gcd(plan.teams, heads);
    plan.tokens = plan.token_step();
  } while (plan.teams > 1 && plan.tokens * plan.pairs() > kMaxTableSize);
  // Enough angles for all threads to find some, and enough heads between two barriers.
  constexpr int64_t kRounds = 2;
  while (
      2 * plan.tokens * plan.pairs() <= kGoodTableSize &&
      (plan.tokens * plan.pairs() < plan.threads() || plan.tokens * heads < kRounds * plan.teams)) {
    plan.tokens *= 2;
  }
  return plan;
}

/// Packs of 16 bytes where neither the halves of a head nor what rotates of it cuts one in two.
int64_t pair_width(int64_t head_dim, int64_t rotating, DType dtype, bool aligned) {
  const int64_t width = 16 / size_of(dtype);
  return aligned && head_dim / 2 % width == 0 && rotating % width == 0 ? width : 1;
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
  const HeadPlan heads =
      plan_heads(params.heads, params.head_dim, params.half_rope_dim,
                 pair_width(params.head_dim, params.half_rope_dim, dtype, aligned), kThreads);

  // Where there are plenty of tokens, a group takes some twice and finds its frequencies once. No
  // sum runs over heads, so this changes no bits.
  constexpr int64_t kPlenty = 8192;
  const int64_t rounds = params.tokens / heads.tokens >= kPlenty ? 2 : 1;
  Plan plan{.kernel = "fused_head_norm_rope",
            .macros = {{"X_TYPE", kernel_type(dtype)},
                       {"WEIGHT_TYPE", kernel_type(weight, x)},
                       {"COPY_TYPE", kernel_type(copy, x)},
                       {"HAS_WEIGHT", flag(weight.bound())},
                       {"WEIGHT_ONE_PLUS", flag(params.weight_mode == kWeightOnePlus)},
                       {"HAS_POSITIONS", flag(arguments[kHeadNormRopePositions].bound())},
                       {"HAS_FREQ_FACTORS", flag(arguments[kHeadNormRopeFreqFactors].bound())},
                       {"HAS_CACHE", flag(cos.bound())},
                       {"HAS_COPY", flag(copy.bound())},
                       {"NORMALISE", flag(params.normalise != 0)},
                       {"INTERLEAVED", flag(params.pairing == kPairInterleaved)}},
            .grid = groups_of(params.tokens, heads.tokens * rounds, heads.threads())};
  heads.add_to(plan.macros);
  return plan;
}

Plan plan_head_norm_rope_backward(const HeadNormRopeBackwardParams& params,
                                  std::span<const Argument> arguments) {
  const Argument& x = arguments[kHeadNormRopeBackwardX];
  const Argument& weight = arguments[kHeadNormRopeBackwardWeight];
  const Argument& cos = arguments[kHeadNormRopeBackwardCos];
  const bool has_dw = arguments[kHeadNormRopeBackwardDwPartial].bound();
  const bool aligned = heads_aligned(x, params.x) && is_aligned(weight, {}) &&
                       heads_aligned(arguments[kHeadNormRopeBackwardDy], params.dy) &&
                       heads_aligned(arguments[kHeadNormRopeBackwardDx], params.dx);
  const HeadPlan heads = plan_heads(
      params.heads, params.head_dim, params.half_rope_dim,
      pair_width(params.head_dim, params.half_rope_dim, x.view().dtype(), aligned), kThreads / 2);

  Plan plan{
      .kernel = "fused_head_norm_rope_backward",
      .macros = {{"X_TYPE", kernel_type(x.view().dtype())},
                 {"WEIGHT_TYPE", kernel_type(weight, x)},
                 {"HAS_WEIGHT", flag(weight.bound())},
                 {"WEIGHT_ONE_PLUS", flag(params.weight_mode == kWeightOnePlus)},
                 {"HAS_POSITIONS", flag(arguments[kHeadNormRopeBackwardPositions].bound())},
                 {"HAS_FREQ_FACTORS", flag(arguments[kHeadNormRopeBackwardFreqFactors].bound())},
                 {"HAS_CACHE", flag(cos.bound())},
                 {"HAS_DX", flag(arguments[kHeadNormRopeBackwardDx].bound())},
                 {"HAS_DW", flag(has_dw)},
                 {"INTERLEAVED", flag(params.pairing == kPairInterleaved)}},
      .grid = groups_of(params.tokens, has_dw ? params.tokens_per_partial : heads.tokens,
                        heads.threads())};
  heads.add_to(plan.macros);
  return plan;
}

namespace {

struct FrequencyPowers {
  float theta = 0;
  int64_t dim = 0;
  std::array<float, kFrequencyPowers> high = {}, low = {};
};

FrequencyPowers frequency_powers(float theta, int64_t dim) {
  FrequencyPowers powers{.theta = theta, .dim = dim};
  for (size_t k = 0; k < kFrequencyPowers; ++k) {
    const double exponent = -std::ldexp(1.0, static_cast<int>(k) + 1) / static_cast<double>(dim);
    const double power = std::min<double>(std::pow(static_cast<double>(theta), exponent),
                                          std::numeric_limits<float>::max());
    powers.high[k] = static_cast<float>(power);
    powers.low[k] = static_cast<float>(power - static_cast<double>(powers.high[k]));
  }
  return powers;
}

}  // namespace

// Nine powers take as long as a quarter of the dispatch, and a model has one theta or two.
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
  std::ranges::copy(found->high, params.power_high);
  std::ranges::copy(found->low, params.power_low);
}

}  // namespace norite::ops
