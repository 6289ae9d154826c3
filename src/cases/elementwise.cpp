// SPDX-License-Identifier: MIT
#include "cases/elementwise.hpp"

#include "cases/norm_problem.hpp"
#include "cases/table.hpp"

#include <fmt/format.h>

namespace norite::cases {
namespace {

using Lies = ElementwiseSpec::Lies;
using Wanted = ElementwiseSpec::Wanted;

class ElementwiseProblem final : public Problem {
 public:
  ElementwiseProblem(const ElementwiseOperation& operation, const ElementwiseSpec& spec,
                     const Device& device, Data data)
      : Problem(device, std::move(data)), operation_(operation), spec_(spec) {}

  Result<void> prepare() override {
    for (size_t i = 0; i < operation_.inputs.size(); ++i) {
      const bool in_place = spec_.in_place == static_cast<int>(i);
      NORITE_TRY_ASSIGN(const Tensor* in,
                        input(operation_.inputs[i], spec_.dtype, spec_.shape, input_layout(i), {},
                              in_place ? Role::in_place : Role::input));
      in_.push_back(in);
    }
    for (size_t i = 0; i < operation_.outputs.size(); ++i) {
      const bool wanted =
          spec_.wanted == Wanted::all || (spec_.wanted == Wanted::first) == (i == 0);
      const Tensor* out = nullptr;
      if (wanted && i == 0 && spec_.in_place >= 0) {
        out = in_[static_cast<size_t>(spec_.in_place)];
      } else if (wanted) {
        NORITE_TRY_ASSIGN(
            out, output(operation_.outputs[i], spec_.out_dtype, spec_.shape, output_layout(i)));
      }
      out_.push_back(out);
    }
    return {};
  }

  Result<void> encode(Encoder& encoder) const override {
    std::vector<View> in, out;
    for (const Tensor* tensor : in_) in.push_back(tensor->view());
    for (const Tensor* tensor : out_) out.push_back(view_of(tensor));
    return operation_.encode(encoder, in, out);
  }

 private:
  Result<void> compare(Comparison& comparison) const override {
    for (size_t i = 0; i < out_.size(); ++i) {
      if (out_[i] == nullptr) continue;
      NORITE_TRY_ASSIGN(const Snapshot got, out_[i]->snapshot());
      for (const int64_t row : checked_rows(*out_[i])) {
        comparison.elements(*out_[i], got, row * out_[i]->row_length(), expected(i, row),
                            tolerance(spec_.out_dtype, 1));
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<Expected> expected(size_t output, int64_t row) const {
    std::vector<Values> in;
    for (const Tensor* tensor : in_) in.push_back(tensor->row(row));
    std::vector<Expected> result;
    Values elements(in.size());
    for (size_t column = 0; column < in.front().size(); ++column) {
      for (size_t k = 0; k < in.size(); ++k) elements[k] = in[k][column];
      result.push_back(operation_.expected(elements)[output]);
    }
    return result;
  }

  [[nodiscard]] Layout input_layout(size_t index) const {
    const bool last = index + 1 == operation_.inputs.size();
    if (spec_.lies == Lies::transposed && index == 0) return {.order = {0, 2, 1}};
    if (spec_.lies == Lies::repeated && last) return {.repeat_row = true};
    return {.row_gap = spec_.lies == Lies::strided ? kRowGap : 0};
  }
  [[nodiscard]] Layout output_layout(size_t index) const {
    if (spec_.lies == Lies::permuted && index == 0) return {.order = {1, 0, 2}};
    return {.row_gap = spec_.lies == Lies::strided ? kRowGap : 0};
  }

  const ElementwiseOperation& operation_;
  ElementwiseSpec spec_;
  std::vector<const Tensor*> in_;
  std::vector<const Tensor*> out_;  ///< nullptr: not wanted
};

std::string describe(const ElementwiseOperation& operation, const ElementwiseSpec& spec) {
  constexpr std::string_view kLies[] = {"", ",strided", ",transposed", ",permuted", ",repeated"};
  std::string text = describe_rows(spec.shape);
  if (!operation.option.empty()) text += fmt::format(",{}", operation.option);
  if (spec.out_dtype != spec.dtype) text += fmt::format(",to={}", norite::name(spec.out_dtype));
  text += kLies[static_cast<size_t>(spec.lies)];
  if (spec.in_place >= 0) {
    text += fmt::format(",in_place={}", operation.inputs[static_cast<size_t>(spec.in_place)]);
  }
  if (spec.wanted == Wanted::first) text += fmt::format(",no_{}", operation.outputs[1]);
  if (spec.wanted == Wanted::second) text += fmt::format(",no_{}", operation.outputs[0]);
  return text;
}

Case row(const ElementwiseOperation& operation, ElementwiseSpec spec, unsigned suites,
         std::string model = {}) {
  if (operation.name != "copy") spec.out_dtype = spec.dtype;
  std::string name =
      fmt::format("{}[{},{}]", operation.name, norite::name(spec.dtype), describe(operation, spec));
  const int64_t count = spec.shape.count().value_or(0);
  const auto inputs = static_cast<int64_t>(operation.inputs.size());
  const auto outputs = static_cast<int64_t>(operation.outputs.size());
  return {.op = std::string(operation.name),
          .name = name,
          .model = std::move(model),
          .dtype = spec.dtype,
          .shape = spec.shape,
          .work = {.bytes_read = inputs * count * size_of(spec.dtype),
                   .bytes_written = outputs * count * size_of(spec.out_dtype),
                   .flops = operation.flops * count},
          .suites = suites,
          .roof = Roof::copy,
          .prepare = [&operation, spec, name](const Device& device,
                                              FillKind fill) -> Result<ProblemPtr> {
            auto problem = std::make_unique<ElementwiseProblem>(operation, spec, device,
                                                                Data{.seed = name, .fill = fill});
            NORITE_TRY(problem->prepare());
            return problem;
          }};
}

/// Sizes in every dtype; layouts, which are another form of the kernel, in one dtype in turn.
std::vector<ElementwiseSpec> verify_specs(const ElementwiseOperation& operation, size_t turn) {
  const std::string_view op = operation.name;
  std::vector<ElementwiseSpec> specs;
  const auto add = [&](const ElementwiseSpec& spec) {
    specs.push_back(spec);
    specs.back().out_dtype = spec.dtype;
  };
  for (const DType dtype : kFloatDTypes) {
    std::vector<Shape> shapes = {{1, 1}, {3, 11}, {8, 257}};
    if (op == "add" || op == "silu_mul" || op == "copy") {
      shapes.insert(shapes.end(), {{1, 15}, {1, 16}, {1, 17}, {2, 4096}, {1, 4099}});
    }
    for (const Shape& shape : shapes) add({.dtype = dtype, .shape = shape});
    add({.dtype = dtype, .shape = {5, 64}, .in_place = 0});
  }
  const DType dtype = kFloatDTypes[turn % std::size(kFloatDTypes)];
  const Shape shape = {3, 5, 67};
  add({.dtype = dtype, .shape = shape, .lies = Lies::strided});
  if (operation.inputs.size() > 1) {
    add({.dtype = dtype,
         .shape = shape,
         .lies = Lies::strided,
         .in_place = static_cast<int>(operation.inputs.size()) - 1});
  }
  if (operation.outputs.size() > 1) {
    add({.dtype = dtype, .shape = {3, 64}, .wanted = Wanted::first});
    add({.dtype = dtype, .shape = {3, 64}, .wanted = Wanted::second});
  }
  if (op != "add" && op != "mul" && op != "copy") return specs;
  for (const Lies lies : {Lies::transposed, Lies::permuted, Lies::repeated}) {
    if (lies == Lies::repeated && op == "copy") continue;
    add({.dtype = dtype, .shape = shape, .lies = lies});
    add({.dtype = dtype, .shape = {3, 5, 64}, .lies = lies});
  }
  return specs;
}

/// Every pair of dtypes, and one of them into other strides.
std::vector<ElementwiseSpec> cast_specs() {
  std::vector<ElementwiseSpec> specs;
  for (const DType from : kFloatDTypes) {
    for (const DType to : kFloatDTypes) {
      if (from == to) continue;
      specs.push_back({.dtype = from, .out_dtype = to, .shape = {8, 257}});
    }
  }
  specs.push_back(
      {.dtype = DType::bf16, .out_dtype = DType::f32, .shape = {3, 5, 67}, .lies = Lies::permuted});
  return specs;
}

/// Four gigabytes of bf16, in place. Wrong 32-bit index arithmetic shows in the rows at the end.
Case large_case(const ElementwiseOperation& operation) {
  constexpr int64_t kNeededBytes = int64_t{16} << 30;
  Case large =
      row(operation, {.dtype = DType::bf16, .shape = {524'289, 4096}, .in_place = 0}, kLarge);
  large.prepare = require_memory(kNeededBytes, std::move(large.prepare));
  return large;
}

struct DemoRow {
  std::string_view op, option;
  DType dtype;
  Shape shape;
  const char* model;
};

const DemoRow kDemoRows[] = {
    {"add", "", DType::f16, {8192, 5120}, "Qwen3 14B"},
    {"copy", "", DType::bf16, {8192, 4096}, "Llama 3 8B, to f32"},
    {"scale", "", DType::bf16, {8192, 3584}, "Gemma 2 9B, embeddings"},
    {"mul", "", DType::bf16, {2048, 14336}, "Llama 3 8B"},
    {"mul_backward", "", DType::f32, {2048, 6144}, "Qwen3 1.7B, training"},
    {"silu", "", DType::f16, {2048, 12288}, "Qwen3 8B"},
    {"silu_backward", "", DType::bf16, {2048, 12288}, "Qwen3 8B, training"},
    {"silu_mul", "", DType::bf16, {4096, 14336}, "Llama 3 8B"},
    {"silu_mul_backward", "", DType::bf16, {2048, 14336}, "Llama 3 8B, training"},
    {"gelu", "", DType::f16, {8192, 4096}, "BERT large"},
    {"gelu_backward", "tanh", DType::bf16, {4096, 6400}, "GPT-2 XL, training"},
    {"gelu_mul", "tanh", DType::bf16, {4096, 15360}, "Gemma 3 12B"},
    {"gelu_mul_backward", "tanh", DType::f32, {2048, 10240}, "Gemma 3 4B, training"},
    {"softcap", "", DType::f32, {256, 256000}, "Gemma 2 9B, logits"},
    {"softcap_backward", "", DType::f32, {128, 256000}, "Gemma 2 9B, training"},
};

}  // namespace

std::vector<Case> elementwise_cases() {
  std::vector<Case> cases;
  size_t turn = 0;
  for (const ElementwiseOperation& operation : elementwise_operations()) {
    const auto add = [&](const ElementwiseSpec& spec, unsigned suites, const char* model = "") {
      cases.push_back(row(operation, spec, suites, model));
    };
    for (const ElementwiseSpec& spec : verify_specs(operation, turn++)) add(spec, kVerify);
    if (operation.name == "copy") {
      for (const ElementwiseSpec& spec : cast_specs()) add(spec, kVerify);
    }
    if (operation.name == "scale") cases.push_back(large_case(operation));
    for (const DType dtype : kFloatDTypes) {
      const Shape beyond_cache = {rows_beyond_cache(dtype, 4096), 4096};
      add({.dtype = dtype, .out_dtype = dtype, .shape = beyond_cache}, kBench);
      add({.dtype = dtype, .out_dtype = dtype, .shape = {64, 4096}}, kBench);
      add({.dtype = dtype, .out_dtype = dtype, .shape = {65536, 4096}}, kBenchGpu);
    }
    for (const DemoRow& demo : kDemoRows) {
      if (demo.op != operation.name || demo.option != operation.option) continue;
      add({.dtype = demo.dtype, .out_dtype = DType::f32, .shape = demo.shape}, kDemo, demo.model);
    }
  }
  return cases;
}

}  // namespace norite::cases
