// SPDX-License-Identifier: MIT
#include "cases/reference.hpp"

#include "cases/attention.hpp"
#include "cases/norm.hpp"
#include "cases/reference_entry.hpp"
#include "cases/rope.hpp"

#include <fmt/format.h>

#include <functional>

namespace norite::cases {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 40;

/// A tensor of the file and the tensor of the problem that it stands for.
struct Field {
  const char* tensor;
  const char* field;
};

/// Inputs must be in the file; results are compared where the file has them.
struct Fields {
  std::vector<Field> inputs;
  std::vector<Field> results;
};

Result<Data> load(const ReferenceEntry& entry, const Fields& fields, std::string_view suffix = {}) {
  Data data{.seed = entry.name()};
  for (const Field& input : fields.inputs) {
    NORITE_TRY_ASSIGN(data.inputs[input.tensor], entry.values(input.field));
  }
  for (const Field& result : fields.results) {
    if (!entry.has(result.field)) continue;
    NORITE_TRY_ASSIGN(Values values, entry.values(result.field));
    data.results[result.tensor] = {.label = fmt::format("{}{}", result.field, suffix),
                                   .values = std::move(values)};
  }
  return data;
}

template <class Spec, class Make>
Case make_row(const ReferenceEntry& entry, std::string_view op, const Shape& shape, Make make,
              const Spec& spec, Data data) {
  return {.op = std::string(op),
          .name = entry.name(),
          .model = {},
          .dtype = DType::f32,
          .shape = shape,
          .work = {},
          .suites = kVerify,
          .roof = Roof::copy,
          .prepare = [make, spec, data = std::move(data)](const Device& device, FillKind) {
            return make(spec, device, data);
          }};
}

Result<Weight> weight_of(const ReferenceEntry& entry) {
  NORITE_TRY_ASSIGN(const std::string text,
                    entry.text("weight", entry.has("w") ? "weight" : "none"));
  if (text == "none") return Weight::none;
  if (text == "weight" || text == "plain") return Weight::plain;
  if (text == "gemma" || text == "one_plus") return Weight::one_plus;
  return entry.bad(fmt::format("weight is '{}', expected weight, gemma or none", text));
}

Result<ops::Pairing> pairing_of(const ReferenceEntry& entry) {
  NORITE_TRY_ASSIGN(const std::string text, entry.text("pairing", "half_dim"));
  if (text == "half_dim") return ops::Pairing::half_dim;
  if (text == "half_rope") return ops::Pairing::half_rope;
  if (text == "interleaved") return ops::Pairing::interleaved;
  return entry.bad(
      fmt::format("pairing is '{}', expected half_dim, half_rope or interleaved", text));
}

Result<void> add_rms_norm(const ReferenceEntry& entry, std::vector<Case>& cases) {
  NORITE_TRY_ASSIGN(const int64_t rows, entry.integer("rows", 1, kMaxExtent));
  NORITE_TRY_ASSIGN(const int64_t dim, entry.integer("dim", 1, kMaxExtent));
  NORITE_TRY_ASSIGN(const Weight weight, weight_of(entry));
  NORITE_TRY_ASSIGN(const double eps, entry.number("eps", kDefaultEps));
  const Shape shape = {rows, dim};
  std::vector<Field> inputs = {{"x", "x"}};
  if (weight != Weight::none) inputs.push_back({"weight", "w"});

  NormSpec spec{.shape = shape,
                .weight = weight,
                .rms_inv = entry.has("rms_inv"),
                .eps = static_cast<float>(eps)};
  if (entry.has("y")) {
    NORITE_TRY_ASSIGN(Data data, load(entry, {inputs, {{"y", "y"}, {"rms_inv", "rms_inv"}}}));
    cases.push_back(make_row(entry, "rms_norm", shape, make_rms_norm, spec, std::move(data)));
  }
  if (entry.has("y_mul")) {
    Fields fields{inputs, {{"y", "y_mul"}}};
    fields.inputs.push_back({"scale", "scale"});
    NORITE_TRY_ASSIGN(Data data, load(entry, fields));
    spec.rms_inv = false;
    cases.push_back(
        make_row(entry, "rms_norm_mul", shape, make_rms_norm_mul, spec, std::move(data)));
  }
  if (!entry.has("dx") && !entry.has("dw")) return {};
  const NormBackwardSpec backward{.shape = shape,
                                  .weight = weight,
                                  .dx = entry.has("dx"),
                                  .dw = entry.has("dw"),
                                  .eps = static_cast<float>(eps)};
  Fields fields{inputs, {{"dx", "dx"}, {"dw", "dw"}}};
  fields.inputs.push_back({"dy", "dy"});
  NORITE_TRY_ASSIGN(Data data, load(entry, fields));
  cases.push_back(make_row(entry, "rms_norm_backward", shape, make_rms_norm_backward, backward,
                           std::move(data)));
  return {};
}

Result<RopeSpec> rope_spec(const ReferenceEntry& entry) {
  constexpr int64_t kMaxHeadDim = 1024;
  RopeSpec spec;
  NORITE_TRY_ASSIGN(spec.tokens, entry.integer("seq", 1, kMaxExtent));
  NORITE_TRY_ASSIGN(spec.heads, entry.integer("heads", 1, kMaxExtent));
  NORITE_TRY_ASSIGN(spec.head_dim, entry.integer("head_dim", 2, kMaxHeadDim));
  const int64_t half = spec.head_dim / 2;
  NORITE_TRY_ASSIGN(spec.half_rope_dim, entry.integer("half_rope_dim", 0, half, half));
  NORITE_TRY_ASSIGN(spec.pairing, pairing_of(entry));
  NORITE_TRY_ASSIGN(const double theta, entry.number("theta", spec.theta));
  NORITE_TRY_ASSIGN(const double eps, entry.number("eps", spec.eps));
  NORITE_TRY_ASSIGN(spec.freq_factors, entry.flag("freq_factors", false));
  NORITE_TRY_ASSIGN(spec.weight, weight_of(entry));
  spec.theta = static_cast<float>(theta);
  spec.eps = static_cast<float>(eps);
  return spec;
}

Result<void> add_head_norm_rope(const ReferenceEntry& entry, std::vector<Case>& cases) {
  NORITE_TRY_ASSIGN(RopeSpec spec, rope_spec(entry));
  spec.dx = entry.has("dx");
  spec.dw = entry.has("dw");
  std::vector<Field> common = {{"x", "x"}};
  if (spec.weight != Weight::none) common.push_back({"weight", "w"});

  for (const bool cached : {false, true}) {
    if (cached && !(entry.has("cos") && entry.has("sin"))) continue;
    spec.cached = cached;
    std::vector<Field> inputs = common;
    if (cached) {
      inputs.insert(inputs.end(), {{"cos", "cos"}, {"sin", "sin"}});
    } else {
      inputs.push_back({"positions", "positions"});
      if (spec.freq_factors) inputs.push_back({"freq_factors", "freq_factors"});
    }
    const std::string_view suffix = cached ? " (cached angles)" : "";
    if (entry.has("y")) {
      NORITE_TRY_ASSIGN(Data data, load(entry, {inputs, {{"y", "y"}}}, suffix));
      cases.push_back(make_row(entry, "fused_head_norm_rope", spec.shape(),
                               make_fused_head_norm_rope, spec, std::move(data)));
    }
    if (!spec.dx && !spec.dw) continue;
    inputs.push_back({"dy", "dy"});
    NORITE_TRY_ASSIGN(Data data, load(entry, {inputs, {{"dx", "dx"}, {"dw", "dw"}}}, suffix));
    cases.push_back(make_row(entry, "fused_head_norm_rope_backward", spec.shape(),
                             make_fused_head_norm_rope_backward, spec, std::move(data)));
  }
  return {};
}

Result<void> add_attention(const ReferenceEntry& entry, std::vector<Case>& cases) {
  ComputeDSpec spec;
  for (const char* extent : {"batch", "heads", "q_len", "head_dim"}) {
    NORITE_TRY_ASSIGN(const int64_t value, entry.integer(extent, 1, kMaxExtent));
    spec.shape.push_back(value);
  }
  NORITE_TRY_ASSIGN(Data data, load(entry, {{{"o", "o"}, {"d_o", "do"}}, {{"d", "D"}}}));
  cases.push_back(make_row(entry, "flash_attn_train_bwd_compute_d", spec.shape, make_compute_d,
                           spec, std::move(data)));
  return {};
}

void add_skipped(const ReferenceEntry& entry, const std::string& op, std::vector<Case>& cases) {
  const std::string reason = fmt::format("Norite has no operation '{}'", op);
  Case row = make_row(entry, op, {}, make_compute_d, ComputeDSpec{}, {});
  row.prepare = [reason](const Device&, FillKind) -> Result<ProblemPtr> {
    return fail(Code::unsupported, reason);
  };
  cases.push_back(std::move(row));
}

}  // namespace

Result<std::vector<Case>> reference_cases(const SafetensorsFile& file) {
  NORITE_TRY_ASSIGN(const std::vector<ReferenceEntry> entries, reference_entries(file));
  std::vector<Case> cases;
  for (const ReferenceEntry& entry : entries) {
    NORITE_TRY_ASSIGN(const std::string op, entry.text("op"));
    if (op == "rms_norm") {
      NORITE_TRY(add_rms_norm(entry, cases));
    } else if (op == "head_norm_rope") {
      NORITE_TRY(add_head_norm_rope(entry, cases));
    } else if (op == "attention") {
      NORITE_TRY(add_attention(entry, cases));
    } else {
      add_skipped(entry, op, cases);
    }
  }
  return cases;
}

}  // namespace norite::cases
