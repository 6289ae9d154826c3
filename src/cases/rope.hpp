// SPDX-License-Identifier: MIT
// What the cases of the rotary operations share: their parameters and sizes.
#pragma once

#include "cases/norm.hpp"

#include <norite/ops/rope_options.hpp>

namespace norite::cases {

/// Absolute error of a cosine or sine computed in f32, at any position: eight units at 1.
constexpr double kAngleError = 8 * 0x1p-24;

/// fused_head_norm_rope, rope, and their backward operations.
struct RopeSpec {
  enum class Positions : uint8_t { sequential, i32, u32 };
  enum class Copy : uint8_t { none, same, permuted };

  DType dtype = DType::f32;
  int64_t tokens = 1;
  int64_t heads = 1;
  int64_t head_dim = 2;

  // The rotation.
  ops::Pairing pairing = ops::Pairing::half_dim;
  int64_t half_rope_dim = -1;
  Positions positions = Positions::i32;
  int64_t first_position = 0;  ///< of sequential positions
  float theta = 10000.0f;
  bool freq_factors = false;
  int64_t frequency_dim = 0;
  bool cached = false;  ///< cos and sin given

  // The norm, where there is one.
  Weight weight = Weight::plain;
  bool f32_weight = false;
  float eps = kDefaultEps;

  // Memory.
  bool strided = false;  ///< heads of a packed QKV: gaps between tokens' heads
  bool in_place = false;
  Copy copy = Copy::none;
  DType copy_dtype = DType::f32;
  bool dx = true;
  bool dw = true;
  bool f32_dw = true;

  [[nodiscard]] Shape shape() const { return {tokens, heads, head_dim}; }
  [[nodiscard]] int64_t pairs() const { return half_rope_dim < 0 ? head_dim / 2 : half_rope_dim; }
};

using RopeMaker = Result<ProblemPtr> (*)(const RopeSpec&, const Device&, Data);
Result<ProblemPtr> make_fused_head_norm_rope(const RopeSpec& spec, const Device& device, Data data);
Result<ProblemPtr> make_fused_head_norm_rope_backward(const RopeSpec& spec, const Device& device,
                                                      Data data);
Result<ProblemPtr> make_rope(const RopeSpec& spec, const Device& device, Data data);
Result<ProblemPtr> make_rope_backward(const RopeSpec& spec, const Device& device, Data data);

/// Turns a spec into a table row.
Case rope_case(std::string_view op, RopeMaker make, const RopeSpec& spec, Work work,
               unsigned suites, std::string model = {});
/// Sizes and rotations that all four operations are checked with.
std::vector<RopeSpec> rotation_specs();
/// 256 MiB and more of [tokens, heads, head_dim], and an in-cache one.
std::vector<RopeSpec> rope_bench_specs();
std::vector<RopeSpec> rope_gpu_bench_specs();
/// Each of `reads` and `writes` counts a [tokens, heads, head_dim] operand; angles come on top.
Work rope_work(const RopeSpec& spec, int64_t reads, int64_t writes, int64_t flops_each);

}  // namespace norite::cases
