// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/footprint.hpp"
#include "graph/fusion.hpp"
#include "graph/operands.hpp"
#include "ops/elementwise/elementwise_family.hpp"
#include "ops/elementwise/function_text.hpp"

namespace norite::graph {

namespace {

using core::Command;

constexpr int kInputs = kElementwiseOut0;

ElementwiseParams params_of(const Command& command) {
  return constants<ElementwiseParams>(command, kElementwiseParams);
}

/// The kernel's input that is the view; nothing where there is none.
std::optional<int> input_of(const Command& command, const View& view) {
  for (int i = 0; i < kInputs; ++i) {
    if (operand(command, i) && core::same_view(operand(command, i), view)) return i;
  }
  return std::nullopt;
}

bool is_chain(const Pair& pair) {
  return !operand(pair.producer, kElementwiseOut1) && !operand(pair.consumer, kElementwiseOut1) &&
         input_of(pair.consumer, operand(pair.producer, kElementwiseOut0)).has_value();
}

/// Two chains as one: the producer's steps, then the consumer's on their result.
class Joined {
 public:
  explicit Joined(const Pair& pair) {
    const ElementwiseParams first = params_of(pair.producer), second = params_of(pair.consumer);
    if (first.steps + second.steps <= kElementwiseMostSteps) {
      append(pair.producer, first, ops::kNotGiven);
      append(pair.consumer, second, operand(pair.producer, kElementwiseOut0));
    }
    steps_ = first.steps + second.steps;
  }

  [[nodiscard]] uint32_t steps() const noexcept { return steps_; }
  [[nodiscard]] size_t inputs() const noexcept { return inputs_; }
  [[nodiscard]] const View& input(size_t index) const { return *views_[index]; }
  [[nodiscard]] std::span<const ElementwiseStep> chain() const {
    return std::span(chain_).first(steps_);
  }

 private:
  /// Steps of a kernel; its input `handed_over` is the result of the last step so far.
  void append(const Command& command, const ElementwiseParams& params, const View& handed_over) {
    const uint32_t before = steps_;
    for (const ElementwiseStep& step : std::span(params.chain).first(params.steps)) {
      const auto function = static_cast<ElementwiseFunction>(step.function);
      std::array<uint32_t, kInputs> inputs = {};
      for (int k = 0; k < ops::function_text(function).inputs; ++k) {
        const uint32_t source = ops::step_input(step, k);
        const bool inside = source >= kInputs;
        const View& view = inside ? ops::kNotGiven : operand(command, static_cast<int>(source));
        inputs[static_cast<size_t>(k)] = inside ? source + before
                                         : handed_over && core::same_view(view, handed_over)
                                             ? kInputs + before - 1
                                             : position_of(view);
      }
      chain_[steps_++] = ops::make_step(function, step.scalar, inputs);
    }
  }

  /// The same input twice is read once.
  uint32_t position_of(const View& view) {
    size_t at = 0;
    while (at < std::min(inputs_, views_.size()) && !core::same_view(*views_[at], view)) ++at;
    if (at < views_.size()) views_[at] = &view;
    inputs_ = std::max(inputs_, at + 1);
    return static_cast<uint32_t>(at);
  }

  uint32_t steps_ = 0;
  size_t inputs_ = 0;  // may be more than there is room for
  std::array<const View*, kInputs> views_ = {&ops::kNotGiven, &ops::kNotGiven, &ops::kNotGiven};
  std::array<ElementwiseStep, kElementwiseMostSteps> chain_ = {};
};

std::string_view chain_forbids(const Pair& pair) {
  const View& handed_over = operand(pair.producer, kElementwiseOut0);
  if (handed_over.dtype() != operand(pair.producer, kElementwiseIn0).dtype()) {
    return "the intermediate is a cast, whose rounding is what was asked for";
  }
  const Joined joined(pair);
  if (joined.steps() > kElementwiseMostSteps) return "the chain is as long as chains may be";
  if (joined.inputs() > kInputs) return "the two have more than three inputs";
  return {};
}

bool rounds_result(const Pair& pair) {
  return operand(pair.producer, kElementwiseOut0).dtype() != DType::f32;
}

Result<void> encode_chain(Encoder& encoder, const Pair& pair) {
  const Joined joined(pair);
  constexpr std::array<std::string_view, kInputs> kNames = {"in0", "in1", "in2"};
  const auto named = [&](size_t i) {
    return i < joined.inputs() ? ops::Named{kNames[i], joined.input(i)} : ops::Named{};
  };
  const View& out = operand(pair.consumer, kElementwiseOut0);
  const std::string label = pair.producer.label + "+" + pair.consumer.label;
  return ops::encode_elementwise(encoder, label,
                                 {.inputs = {{named(0), named(1), named(2)}},
                                  .outputs = {{{"out0", out}}},
                                  .converts = true,
                                  .chain = joined.chain()});
}

constexpr std::array kRules = {
    FusionRule{.name = "elementwise, elementwise: one chain",
               .producer = "elementwise",
               .consumer = "elementwise",
               .matches = is_chain,
               .forbids = chain_forbids,
               .changes_bits = rounds_result,
               .encode = encode_chain},
};

}  // namespace

std::span<const FusionRule> chain_rules() { return kRules; }

}  // namespace norite::graph
