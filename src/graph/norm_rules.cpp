// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "core/footprint.hpp"
#include "core/pipeline.hpp"
#include "elementwise/params.h"
#include "graph/fusion.hpp"
#include "graph/operands.hpp"
#include "ops/norm/rms_norm_family.hpp"
#include "ops/rope/head_norm_rope_family.hpp"
#include "rope/params.h"

namespace norite::graph {

namespace {

using core::Command;

bool is_single(const Command& command, ElementwiseFunction function) {
  const auto params = constants<ElementwiseParams>(command, kElementwiseParams);
  return params.steps == 1 && params.chain[0].function == function;
}

/// rms_norm itself, not one of the operations that share its kernel.
bool is_plain_norm(const Command& command) {
  return operand(command, kRmsNormY) && !operand(command, kRmsNormResidual) &&
         !operand(command, kRmsNormScale);
}

ops::WeightMode weight_mode(uint32_t mode) {
  return mode == kWeightOnePlus ? ops::WeightMode::one_plus : ops::WeightMode::plain;
}

/// A norm's own fields, to add those of its partner.
ops::RmsNormFamily norm_fields(const Command& norm, const RmsNormParams& params) {
  return {.x = operand(norm, kRmsNormX),
          .weight = operand(norm, kRmsNormWeight),
          .y = operand(norm, kRmsNormY),
          .rms_inv = operand(norm, kRmsNormRmsInv),
          .eps = params.eps,
          .weight_mode = weight_mode(params.weight_mode),
          .rounding = params.rounding == kRoundBeforeWeight ? ops::Rounding::before_weight
                                                            : ops::Rounding::once};
}

/// Whether rows are of whole packs, all of them; so are those of an operand that is not there.
bool has_whole_packs(const View& view, int64_t pack_bytes = 16) {
  if (!view) return true;
  const auto whole = [&](int64_t elements) {
    return elements * size_of(view.dtype()) % pack_bytes == 0;
  };
  if (view.byte_offset() % pack_bytes != 0 || !whole(view.shape().back())) return false;
  for (int axis = 0; axis + 1 < view.shape().rank(); ++axis) {
    if (view.shape()[axis] > 1 && !whole(view.strides()[axis])) return false;
  }
  return true;
}

bool is_text(const Command& command) { return command.pipeline.state()->grid_rules().has_value(); }

std::array<View, 3> norm_rows(const Command& norm) {
  return {operand(norm, kRmsNormX), operand(norm, kRmsNormWeight), operand(norm, kRmsNormY)};
}

/// Kernel text sums squares in another order where the norm's rows are of whole packs and the other
/// operation's are not, and may do so where rows neither are nor lie side by side.
bool sums_otherwise(const Command& norm, const Command& elementwise) {
  if (!is_text(norm)) return false;
  const std::array<View, 3> added = {operand(elementwise, kElementwiseIn0),
                                     operand(elementwise, kElementwiseIn1),
                                     operand(elementwise, kElementwiseOut0)};
  const auto alone = norm_rows(norm);
  const auto whole = [](const View& view) { return has_whole_packs(view); };
  const auto dense = [](const View& view) { return !view || view.contiguous(); };
  if (std::ranges::all_of(alone, whole)) return !std::ranges::all_of(added, whole);
  return !std::ranges::all_of(alone, dense) || !std::ranges::all_of(added, dense);
}

constexpr std::string_view kSumsOtherwise =
    "operands begin their rows otherwise, which changes sums";

bool rounds_result(const Pair& pair) { return result_of(pair.producer).dtype() != DType::f32; }
bool never(const Pair&) { return false; }

// --- rms_norm, mul ----------------------------------------------------------------------------

bool is_norm_mul(const Pair& pair) {
  const View& y = operand(pair.producer, kRmsNormY);
  return is_plain_norm(pair.producer) && is_single(pair.consumer, kElementwiseMul) &&
         core::same_view(y, operand(pair.consumer, kElementwiseIn0)) !=
             core::same_view(y, operand(pair.consumer, kElementwiseIn1));
}

/// Where a rounding is saved, bits change anyway.
std::string_view norm_mul_forbids(const Pair& pair) {
  const bool other = !rounds_result(pair) && sums_otherwise(pair.producer, pair.consumer);
  return other ? kSumsOtherwise : std::string_view();
}

Result<void> encode_norm_mul(Encoder& encoder, const Pair& pair) {
  const auto params = constants<RmsNormParams>(pair.producer, kRmsNormParams);
  const View& y = operand(pair.producer, kRmsNormY);
  const bool first = core::same_view(y, operand(pair.consumer, kElementwiseIn0));
  const ops::RmsNormFamily norm = norm_fields(pair.producer, params);
  return ops::encode_rms_norm_family(
      encoder, "rms_norm_mul",
      {.x = norm.x,
       .weight = norm.weight,
       .scale = operand(pair.consumer, first ? kElementwiseIn1 : kElementwiseIn0),
       .y = operand(pair.consumer, kElementwiseOut0),
       .rms_inv = norm.rms_inv,
       .eps = norm.eps,
       .weight_mode = norm.weight_mode,
       .rounding = norm.rounding});
}

// --- add, rms_norm ----------------------------------------------------------------------------

bool is_add_norm(const Pair& pair) {
  return is_single(pair.producer, kElementwiseAdd) && is_plain_norm(pair.consumer) &&
         core::same_view(operand(pair.producer, kElementwiseOut0),
                         operand(pair.consumer, kRmsNormX));
}

std::string_view add_norm_forbids(const Pair& pair) {
  return sums_otherwise(pair.consumer, pair.producer) ? kSumsOtherwise : std::string_view();
}

Result<void> encode_add_norm(Encoder& encoder, const Pair& pair) {
  const auto params = constants<RmsNormParams>(pair.consumer, kRmsNormParams);
  const ops::RmsNormFamily norm = norm_fields(pair.consumer, params);
  return ops::encode_rms_norm_family(encoder, "residual_rms_norm",
                                     {.x = operand(pair.producer, kElementwiseIn0),
                                      .weight = norm.weight,
                                      .residual = operand(pair.producer, kElementwiseIn1),
                                      .sum = operand(pair.producer, kElementwiseOut0),
                                      .y = norm.y,
                                      .rms_inv = norm.rms_inv,
                                      .eps = norm.eps,
                                      .weight_mode = norm.weight_mode,
                                      .rounding = norm.rounding});
}

// --- rms_norm, rope ---------------------------------------------------------------------------

bool is_norm_rope(const Pair& pair) {
  const auto rope = constants<HeadNormRopeParams>(pair.consumer, kHeadNormRopeParams);
  return is_plain_norm(pair.producer) && rope.normalise == 0 && rope.angles.negate == 0 &&
         core::same_view(operand(pair.producer, kRmsNormY), operand(pair.consumer, kHeadNormRopeX));
}

/// Kernel text sums a head as it does a row where both are of whole packs, and neither the halves
/// of the head nor what rotates of it cuts one in two.
bool sums_head_otherwise(const Command& norm, const Command& rope) {
  if (!is_text(norm)) return false;
  const auto params = constants<HeadNormRopeParams>(rope, kHeadNormRopeParams);
  const View& x = operand(norm, kRmsNormX);
  const View& copy = operand(rope, kHeadNormRopeCopy);
  const int64_t width = 16 / size_of(x.dtype());
  const int64_t copy_bytes = copy ? width * size_of(copy.dtype()) : 0;
  const auto whole = [](const View& view) { return has_whole_packs(view); };
  return !std::ranges::all_of(norm_rows(norm), whole) || !whole(operand(rope, kHeadNormRopeY)) ||
         !has_whole_packs(copy, copy_bytes) || params.head_dim % (2 * width) != 0 ||
         params.half_rope_dim % width != 0;
}

std::string_view norm_rope_forbids(const Pair& pair) {
  const auto norm = constants<RmsNormParams>(pair.producer, kRmsNormParams);
  if (operand(pair.producer, kRmsNormRmsInv)) return "rms_inv is asked for";
  if (norm.rounding == kRoundBeforeWeight) return "the norm rounds before its weight";
  if (!rounds_result(pair) && sums_head_otherwise(pair.producer, pair.consumer)) {
    return kSumsOtherwise;
  }
  return {};
}

ops::Pairing pairing_of(uint32_t pairing) {
  switch (pairing) {
    case kPairHalfRope:
      return ops::Pairing::half_rope;
    case kPairInterleaved:
      return ops::Pairing::interleaved;
    default:
      return ops::Pairing::half_dim;
  }
}

ops::RopeAngles angles_of(const Command& rope, const RopeAngleParams& params) {
  ops::RopeAngles angles{.positions = operand(rope, kHeadNormRopePositions),
                         .freq_factors = operand(rope, kHeadNormRopeFreqFactors),
                         .cos = operand(rope, kHeadNormRopeCos),
                         .sin = operand(rope, kHeadNormRopeSin)};
  if (params.source == kAnglesCached) return angles;
  angles.first_position = params.first_position;
  angles.theta = params.theta;
  angles.frequency_dim = params.frequency_dim;
  return angles;
}

Result<void> encode_norm_rope(Encoder& encoder, const Pair& pair) {
  const auto norm = constants<RmsNormParams>(pair.producer, kRmsNormParams);
  const auto rope = constants<HeadNormRopeParams>(pair.consumer, kHeadNormRopeParams);
  const ops::RopeAngles angles = angles_of(pair.consumer, rope.angles);
  return ops::encode_head_norm_rope_family(encoder, "fused_head_norm_rope",
                                           {.x = operand(pair.producer, kRmsNormX),
                                            .weight = operand(pair.producer, kRmsNormWeight),
                                            .y = operand(pair.consumer, kHeadNormRopeY),
                                            .copy = operand(pair.consumer, kHeadNormRopeCopy),
                                            .angles = angles,
                                            .pairing = pairing_of(rope.pairing),
                                            .half_rope_dim = rope.half_rope_dim,
                                            .eps = norm.eps,
                                            .weight_mode = weight_mode(norm.weight_mode),
                                            .normalise = true});
}

constexpr std::array kRules = {
    FusionRule{.name = "rms_norm, mul: rms_norm_mul",
               .producer = "rms_norm",
               .consumer = "elementwise",
               .matches = is_norm_mul,
               .forbids = norm_mul_forbids,
               .changes_bits = rounds_result,
               .encode = encode_norm_mul},
    FusionRule{.name = "add, rms_norm: residual_rms_norm",
               .producer = "elementwise",
               .consumer = "rms_norm",
               .matches = is_add_norm,
               .forbids = add_norm_forbids,
               .keeps_intermediate = true,
               .changes_bits = never,
               .encode = encode_add_norm},
    FusionRule{.name = "rms_norm, rope: fused_head_norm_rope",
               .producer = "rms_norm",
               .consumer = "fused_head_norm_rope",
               .matches = is_norm_rope,
               .forbids = norm_rope_forbids,
               .changes_bits = rounds_result,
               .encode = encode_norm_rope},
};

}  // namespace

std::span<const FusionRule> norm_rules() { return kRules; }

const View& result_of(const Command& producer) {
  const bool norm = ops::is_rms_norm_kernel(producer.pipeline.name());
  return operand(producer, norm ? int{kRmsNormY} : int{kElementwiseOut0});
}

}  // namespace norite::graph
