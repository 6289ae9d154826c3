// SPDX-License-Identifier: MIT
#include "cases/reference.hpp"

#include "cases/attention.hpp"
#include "cases/norm.hpp"
#include "cases/reference_entry.hpp"
#include "cases/rope.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
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
    NORITE_TRY_ASSIGN(data.inputs[input.tensor], entry.tensor(input.field));
  }
  for (const Field& result : fields.results) {
    if (!entry.has(result.field)) continue;
    NORITE_TRY_ASSIGN(data.results[result.tensor], entry.tensor(result.field, suffix));
  }
  return data;
}

bool has_any(const ReferenceEntry& entry, std::initializer_list<const char*> fields) {
  return std::ranges::any_of(fields, [&](const char* field) { return entry.has(field); });
}

Case empty_row(const ReferenceEntry& entry, std::string_view op, const Shape& shape) {
  return {.op = std::string(op),
          .name = entry.name(),
          .model = {},
          .dtype = DType::f32,
          .shape = shape,
          .work = {},
          .suites = kVerify,
          .roof = Roof::copy,
          .prepare = {}};
}

template <class Spec, class Make>
Case make_row(const ReferenceEntry& entry, std::string_view op, const Shape& shape, Make make,
              const Spec& spec, Data data) {
  Case row = empty_row(entry, op, shape);
  row.prepare = [make, spec, data = std::move(data)](const Device& device, FillKind) {
    return make(spec, device, data);
  };
  return row;
}

Case skipped_row(const ReferenceEntry& entry, std::string_view op, std::string reason) {
  Case row = empty_row(entry, op, {});
  row.prepare = [reason = std::move(reason)](const Device&, FillKind) -> Result<ProblemPtr> {
    return fail(Code::unsupported, reason);
  };
  return row;
}

Result<Weight> weight_of(const ReferenceEntry& entry) {
  NORITE_TRY_ASSIGN(const std::string text,
                    entry.text("weight", entry.has("w") ? "weight" : "none"));
  if (text == "none") return Weight::none;
  if (text == "weight" || text == "plain") return Weight::plain;
  if (text == "gemma" || text == "one_plus") return Weight::one_plus;
  return entry.bad(fmt::format("weight is '{}', expected weight, gemma or none", text));
}

/// A gradient that nothing would be compared with is a mistake of the file.
Result<void> check_gradient(const ReferenceEntry& entry, Weight weight) {
  if (weight != Weight::none || !entry.has("dw")) return {};
  return entry.bad(
      fmt::format("tensor '{}/dw' is a gradient of a weight, and weight is none", entry.name()));
}

Result<ops::Pairing> pairing_of(const ReferenceEntry& entry) {
  NORITE_TRY_ASSIGN(const std::string text, entry.text("pairing", "half_dim"));
  if (text == "half_dim") return ops::Pairing::half_dim;
  if (text == "half_rope") return ops::Pairing::half_rope;
  if (text == "interleaved") return ops::Pairing::interleaved;
  return entry.bad(
      fmt::format("pairing is '{}', expected half_dim, half_rope or interleaved", text));
}

/// The parameters that both norms have.
Result<NormSpec> norm_spec(const ReferenceEntry& entry) {
  NORITE_TRY_ASSIGN(const int64_t rows, entry.integer("rows", 1, kMaxExtent));
  NORITE_TRY_ASSIGN(const int64_t dim, entry.integer("dim", 1, kMaxExtent));
  NormSpec spec{.shape = {rows, dim}, .rms_inv = entry.has("rms_inv")};
  NORITE_TRY_ASSIGN(spec.weight, weight_of(entry));
  NORITE_TRY_ASSIGN(spec.eps, entry.real("eps", kDefaultEps));
  return spec;
}

std::vector<Field> norm_inputs(const NormSpec& spec) {
  std::vector<Field> inputs = {{"x", "x"}};
  if (spec.weight != Weight::none) inputs.push_back({"weight", "w"});
  return inputs;
}

Result<void> add_rms_norm_backward(const ReferenceEntry& entry, const NormSpec& spec,
                                   std::vector<Case>& cases) {
  NORITE_TRY(check_gradient(entry, spec.weight));
  const NormBackwardSpec backward{.shape = spec.shape,
                                  .weight = spec.weight,
                                  .dx = entry.has("dx"),
                                  .dw = entry.has("dw"),
                                  .eps = spec.eps};
  Fields fields{norm_inputs(spec), {{"dx", "dx"}, {"dw", "dw"}}};
  fields.inputs.push_back({"dy", "dy"});
  NORITE_TRY_ASSIGN(Data data, load(entry, fields));
  cases.push_back(make_row(entry, "rms_norm_backward", spec.shape, make_rms_norm_backward, backward,
                           std::move(data)));
  return {};
}

Result<void> add_rms_norm(const ReferenceEntry& entry, std::vector<Case>& cases) {
  NORITE_TRY_ASSIGN(NormSpec spec, norm_spec(entry));
  if (has_any(entry, {"y", "rms_inv"})) {
    const Fields fields{norm_inputs(spec), {{"y", "y"}, {"rms_inv", "rms_inv"}}};
    NORITE_TRY_ASSIGN(Data data, load(entry, fields));
    cases.push_back(make_row(entry, "rms_norm", spec.shape, make_rms_norm, spec, std::move(data)));
  }
  if (entry.has("y_mul")) {
    Fields fields{norm_inputs(spec), {{"y", "y_mul"}}};
    fields.inputs.push_back({"scale", "scale"});
    NORITE_TRY_ASSIGN(Data data, load(entry, fields));
    spec.rms_inv = false;
    cases.push_back(
        make_row(entry, "rms_norm_mul", spec.shape, make_rms_norm_mul, spec, std::move(data)));
  }
  if (!has_any(entry, {"dx", "dw"})) return {};
  return add_rms_norm_backward(entry, spec, cases);
}

Result<void> add_residual_rms_norm(const ReferenceEntry& entry, std::vector<Case>& cases) {
  NORITE_TRY_ASSIGN(const NormSpec spec, norm_spec(entry));
  if (!has_any(entry, {"sum", "y", "rms_inv"})) return {};
  Fields fields{norm_inputs(spec), {{"sum", "sum"}, {"y", "y"}, {"rms_inv", "rms_inv"}}};
  fields.inputs.push_back({"residual", "residual"});
  NORITE_TRY_ASSIGN(Data data, load(entry, fields));
  // One f32 is right, and it is that one also where the file has all bits of the sum.
  if (const auto sum = data.results.find("sum"); sum != data.results.end()) {
    for (double& value : sum->second.values) value = round_to(DType::f32, value);
  }
  cases.push_back(make_row(entry, "residual_rms_norm", spec.shape, make_residual_rms_norm, spec,
                           std::move(data)));
  return {};
}

Result<RopeSpec> rope_spec(const ReferenceEntry& entry) {
  constexpr int64_t kMaxHeadDim = 1024;
  RopeSpec spec{.dx = entry.has("dx"), .dw = entry.has("dw")};
  NORITE_TRY_ASSIGN(spec.tokens, entry.integer("seq", 1, kMaxExtent));
  NORITE_TRY_ASSIGN(spec.heads, entry.integer("heads", 1, kMaxExtent));
  NORITE_TRY_ASSIGN(spec.head_dim, entry.integer("head_dim", 2, kMaxHeadDim));
  const int64_t half = spec.head_dim / 2;
  NORITE_TRY_ASSIGN(spec.half_rope_dim, entry.integer("half_rope_dim", 0, half, half));
  NORITE_TRY_ASSIGN(spec.pairing, pairing_of(entry));
  NORITE_TRY_ASSIGN(spec.theta, entry.real("theta", spec.theta));
  NORITE_TRY_ASSIGN(spec.freq_factors, entry.flag("freq_factors", entry.has("freq_factors")));
  return spec;
}

/// A rotation of heads by itself, or after a norm: what runs it, and its inputs beside the angles.
struct Rotation {
  std::string_view op, backward_op;
  RopeMaker make, make_backward;
  std::vector<Field> inputs, backward_inputs;
};

Result<void> add_rotation(const ReferenceEntry& entry, const RopeSpec& spec,
                          const Rotation& rotation, std::vector<Case>& cases) {
  std::vector<Field> angles = {{"positions", "positions"}};
  if (spec.freq_factors) angles.push_back({"freq_factors", "freq_factors"});
  if (spec.cached) angles = {{"cos", "cos"}, {"sin", "sin"}};
  const auto add = [&](std::string_view op, RopeMaker make, Fields fields) -> Result<void> {
    fields.inputs.insert(fields.inputs.end(), angles.begin(), angles.end());
    NORITE_TRY_ASSIGN(Data data, load(entry, fields, spec.cached ? " (cached angles)" : ""));
    cases.push_back(make_row(entry, op, spec.shape(), make, spec, std::move(data)));
    return {};
  };
  if (entry.has("y")) NORITE_TRY(add(rotation.op, rotation.make, {rotation.inputs, {{"y", "y"}}}));
  if (!spec.dx && !spec.dw) return {};
  return add(rotation.backward_op, rotation.make_backward,
             {rotation.backward_inputs, {{"dx", "dx"}, {"dw", "dw"}}});
}

/// With computed angles, and again with the file's.
Result<void> add_both_angles(const ReferenceEntry& entry, RopeSpec spec, const Rotation& rotation,
                             std::vector<Case>& cases) {
  NORITE_TRY(add_rotation(entry, spec, rotation, cases));
  spec.cached = entry.has("cos");
  if (spec.cached != entry.has("sin")) {
    return entry.bad(fmt::format("it has {} and no {}, expected both or neither",
                                 spec.cached ? "cos" : "sin", spec.cached ? "sin" : "cos"));
  }
  return spec.cached ? add_rotation(entry, spec, rotation, cases) : Result<void>{};
}

Result<void> add_head_norm_rope(const ReferenceEntry& entry, std::vector<Case>& cases) {
  NORITE_TRY_ASSIGN(RopeSpec spec, rope_spec(entry));
  NORITE_TRY_ASSIGN(spec.weight, weight_of(entry));
  NORITE_TRY(check_gradient(entry, spec.weight));
  NORITE_TRY_ASSIGN(spec.eps, entry.real("eps", spec.eps));
  Rotation rotation{.op = "fused_head_norm_rope",
                    .backward_op = "fused_head_norm_rope_backward",
                    .make = make_fused_head_norm_rope,
                    .make_backward = make_fused_head_norm_rope_backward,
                    .inputs = {{"x", "x"}},
                    .backward_inputs = {{"x", "x"}, {"dy", "dy"}}};
  if (spec.weight != Weight::none) {
    rotation.inputs.push_back({"weight", "w"});
    rotation.backward_inputs.push_back({"weight", "w"});
  }
  return add_both_angles(entry, spec, rotation, cases);
}

Result<void> add_rope(const ReferenceEntry& entry, std::vector<Case>& cases) {
  NORITE_TRY_ASSIGN(RopeSpec spec, rope_spec(entry));
  spec.dw = false;
  const Rotation rotation{.op = "rope",
                          .backward_op = "rope_backward",
                          .make = make_rope,
                          .make_backward = make_rope_backward,
                          .inputs = {{"x", "x"}},
                          .backward_inputs = {{"dy", "dy"}}};
  return add_both_angles(entry, spec, rotation, cases);
}

Result<void> add_attention(const ReferenceEntry& entry, std::vector<Case>& cases) {
  ComputeDSpec spec;
  for (const char* extent : {"batch", "heads", "q_len", "head_dim"}) {
    NORITE_TRY_ASSIGN(const int64_t value, entry.integer(extent, 1, kMaxExtent));
    spec.shape.push_back(value);
  }
  if (!entry.has("D")) return {};
  NORITE_TRY_ASSIGN(Data data, load(entry, {{{"o", "o"}, {"d_o", "do"}}, {{"d", "D"}}}));
  cases.push_back(make_row(entry, "flash_attn_train_bwd_compute_d", spec.shape, make_compute_d,
                           spec, std::move(data)));
  return {};
}

/// An operation as files have it, what it reads at least, and those of its results that can be
/// checked.
struct Known {
  std::string_view op;
  Result<void> (*add)(const ReferenceEntry&, std::vector<Case>&);
  std::array<const char*, 2> inputs;
  std::string_view results;
};

constexpr Known kKnown[] = {
    {"rms_norm", add_rms_norm, {"x"}, "y, rms_inv, y_mul, dx, dw"},
    {"residual_rms_norm", add_residual_rms_norm, {"x", "residual"}, "sum, y, rms_inv"},
    {"head_norm_rope", add_head_norm_rope, {"x"}, "y, dx, dw"},
    {"rope", add_rope, {"x"}, "y, dx"},
    {"attention", add_attention, {"o", "do"}, "D"},
};

/// The rows of a case; where it has no results, one that is skipped.
Result<void> add_known(const ReferenceEntry& entry, const Known& known, std::vector<Case>& cases) {
  const size_t before = cases.size();
  NORITE_TRY(known.add(entry, cases));
  if (cases.size() > before) return {};
  for (const char* input : known.inputs) {
    if (input != nullptr) NORITE_TRY(entry.tensor(input));
  }
  const bool one = known.results.find(',') == known.results.npos;
  cases.push_back(skipped_row(entry, known.op,
                              fmt::format("it has {} {}", one ? "no" : "none of", known.results)));
  return {};
}

/// Why no case of an operation can be checked.
std::string why_unknown(const std::string& op) {
  const std::vector<std::string> all = operations();
  if (std::ranges::find(all, op) == all.end()) {
    return fmt::format("Norite has no operation '{}'", op);
  }
  std::vector<std::string_view> names;
  for (const Known& known : kKnown) names.push_back(known.op);
  return fmt::format("'{}' is not among the operations that files are read for: {}", op,
                     fmt::join(names, ", "));
}

}  // namespace

Result<std::vector<Case>> reference_cases(const SafetensorsFile& file) {
  NORITE_TRY_ASSIGN(const std::vector<ReferenceEntry> entries, reference_entries(file));
  std::vector<Case> cases;
  for (const ReferenceEntry& entry : entries) {
    NORITE_TRY_ASSIGN(const std::string op, entry.text("op"));
    const auto* known = std::ranges::find(kKnown, op, &Known::op);
    if (known != std::end(kKnown)) {
      NORITE_TRY(add_known(entry, *known, cases));
    } else {
      cases.push_back(skipped_row(entry, op, why_unknown(op)));
    }
  }
  return cases;
}

}  // namespace norite::cases
