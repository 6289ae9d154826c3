// SPDX-License-Identifier: MIT
#include "cases/rope.hpp"

#include <fmt/format.h>

namespace norite::cases {
namespace {

using Pairing = ops::Pairing;
using Positions = RopeSpec::Positions;
using Copy = RopeSpec::Copy;

std::string describe_rotation(const RopeSpec& spec) {
  std::string text;
  if (spec.pairing == Pairing::half_rope) text += ",half_rope";
  if (spec.pairing == Pairing::interleaved) text += ",interleaved";
  if (spec.half_rope_dim >= 0) text += fmt::format(",pairs={}", spec.half_rope_dim);
  if (spec.cached) text += ",cached";
  if (spec.positions == Positions::sequential)
    text += fmt::format(",first={}", spec.first_position);
  if (spec.positions == Positions::u32) text += ",positions=u32";
  if (spec.theta != 10000.0f) text += fmt::format(",theta={}", spec.theta);
  if (spec.freq_factors) text += ",freq_factors";
  if (spec.frequency_dim > 0) text += fmt::format(",frequency_dim={}", spec.frequency_dim);
  return text;
}

std::string describe(const RopeSpec& spec, bool normalises) {
  std::string text =
      fmt::format("tokens={},heads={},head_dim={}", spec.tokens, spec.heads, spec.head_dim);
  text += describe_rotation(spec);
  if (normalises) text += describe_weight(spec.weight, spec.f32_weight, spec.dtype);
  if (spec.strided) text += ",strided";
  if (spec.in_place) text += ",in_place";
  if (spec.copy != Copy::none) text += fmt::format(",copy={}", name(spec.copy_dtype));
  if (spec.copy == Copy::permuted) text += ",permuted";
  if (!spec.dx) text += ",dw_only";
  if (!spec.dw) text += ",dx_only";
  if (!spec.f32_dw) text += fmt::format(",dw={}", name(weight_dtype(spec.dtype, spec.f32_weight)));
  if (spec.eps != kDefaultEps) text += fmt::format(",eps={}", spec.eps);
  return text;
}

std::vector<RopeSpec> rotation_specs_of(DType dtype) {
  std::vector<RopeSpec> specs;
  for (const int64_t head_dim : {2, 6, 30, 32, 34, 64, 80, 96, 128, 256, 512, 1024}) {
    specs.push_back({.dtype = dtype, .tokens = 3, .heads = 2, .head_dim = head_dim});
  }
  const RopeSpec base{.dtype = dtype, .tokens = 5, .heads = 3, .head_dim = 80};
  const auto add = [&](auto change) {
    RopeSpec spec = base;
    change(spec);
    specs.push_back(spec);
  };
  using Spec = RopeSpec;
  for (const int64_t pairs : {0, 1, 15, 17, 20, 40}) {
    add([=](Spec& s) { s.half_rope_dim = pairs; });
    add([=](Spec& s) { s.half_rope_dim = pairs, s.pairing = Pairing::half_rope; });
    add([=](Spec& s) { s.half_rope_dim = pairs, s.pairing = Pairing::interleaved; });
  }
  for (const Pairing pairing : {Pairing::half_dim, Pairing::half_rope, Pairing::interleaved}) {
    add([=](Spec& s) { s.pairing = pairing, s.cached = true, s.half_rope_dim = 17; });
    add([=](Spec& s) { s.pairing = pairing, s.strided = s.in_place = true; });
  }
  add([](Spec& s) { s.positions = Positions::u32, s.theta = 1e6f; });
  add([](Spec& s) { s.positions = Positions::sequential, s.tokens = 67; });
  add([](Spec& s) { s.positions = Positions::sequential, s.first_position = 131067; });
  add([](Spec& s) { s.freq_factors = true, s.theta = 500000.0f; });
  add([](Spec& s) { s.frequency_dim = 32, s.half_rope_dim = 16; });
  add([](Spec& s) { s.strided = true; });
  add([](Spec& s) { s.in_place = true; });
  add([](Spec& s) { s.head_dim = 128, s.heads = 5, s.cached = true; });
  add([](Spec& s) { s.head_dim = 128, s.heads = 9, s.strided = s.in_place = true; });
  add([](Spec& s) { s.head_dim = 64, s.heads = 17, s.tokens = 1; });
  add([](Spec& s) { s.tokens = 257, s.heads = 1, s.head_dim = 64; });
  add([](Spec& s) { s.tokens = 2, s.heads = 33, s.head_dim = 128; });
  return specs;
}

}  // namespace

std::vector<RopeSpec> rotation_specs() {
  std::vector<RopeSpec> specs;
  for (const DType dtype : kFloatDTypes) {
    for (const RopeSpec& spec : rotation_specs_of(dtype)) specs.push_back(spec);
  }
  return specs;
}

std::vector<RopeSpec> rope_bench_specs() {
  constexpr int64_t kHeads = 16;
  std::vector<RopeSpec> specs;
  for (const DType dtype : kFloatDTypes) {
    const int64_t tokens = rows_beyond_cache(dtype, kHeads * 128);
    RopeSpec spec{.dtype = dtype, .tokens = tokens, .heads = kHeads, .head_dim = 128};
    specs.push_back(spec);
    spec.cached = true;
    specs.push_back(spec);
    spec.cached = false;
    spec.head_dim = 256;
    spec.tokens = tokens / 2;
    specs.push_back(spec);
    specs.push_back({.dtype = dtype, .tokens = 64, .heads = 32, .head_dim = 128});
  }
  return specs;
}

std::vector<RopeSpec> rope_gpu_bench_specs() {
  std::vector<RopeSpec> specs;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    for (const bool cached : {false, true}) {
      for (RopeSpec spec : {RopeSpec{.tokens = 32768, .heads = 32, .head_dim = 128},
                            RopeSpec{.tokens = 32768, .heads = 8, .head_dim = 128},
                            RopeSpec{.tokens = 16384, .heads = 16, .head_dim = 256},
                            RopeSpec{.tokens = 8192, .heads = 16, .head_dim = 512},
                            RopeSpec{.tokens = 1, .heads = 32, .head_dim = 128}}) {
        spec.dtype = dtype;
        spec.cached = cached;
        specs.push_back(spec);
      }
    }
  }
  return specs;
}

Work rope_work(const RopeSpec& spec, int64_t reads, int64_t writes, int64_t flops_each) {
  const int64_t count = spec.shape().count().value_or(0);
  const int64_t operand = count * size_of(spec.dtype);
  const int64_t caches = spec.cached ? 2 * spec.tokens * spec.pairs() * size_of(DType::f32) : 0;
  const int64_t copy = spec.copy == Copy::none ? 0 : count * size_of(spec.copy_dtype);
  return {.bytes_read = reads * operand + caches,
          .bytes_written = writes * operand + copy,
          .flops = flops_each * count};
}

Case rope_case(std::string_view op, RopeMaker make, const RopeSpec& spec, Work work,
               unsigned suites, std::string model) {
  const bool normalises = op.starts_with("fused");
  std::string name =
      fmt::format("{}[{},{}]", op, norite::name(spec.dtype), describe(spec, normalises));
  return {.op = std::string(op),
          .name = name,
          .model = std::move(model),
          .dtype = spec.dtype,
          .shape = spec.shape(),
          .work = work,
          .suites = suites,
          .roof = Roof::copy,
          .prepare = [make, spec, name](const Device& device, FillKind fill) {
            return make(spec, device, {.seed = name, .fill = fill});
          }};
}

}  // namespace norite::cases
