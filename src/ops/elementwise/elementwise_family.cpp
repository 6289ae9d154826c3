// SPDX-License-Identifier: MIT
#include "ops/elementwise/elementwise_family.hpp"

#include <algorithm>
#include <vector>

#include "ops/dispatch.hpp"
#include "ops/elementwise/axes.hpp"
#include "ops/elementwise/elementwise_plan.hpp"
#include "ops/elementwise/function_text.hpp"

namespace norite::ops {

namespace {

Result<void> check_operand(const Check& check, const Named& operand, const Named& first) {
  NORITE_TRY(check.given(operand));
  NORITE_TRY(check.dtype(operand, {DType::f32, DType::f16, DType::bf16}));
  if (operand.view.shape().rank() < 1) {
    return check.refuse(operand.name, "has shape []", "at least one axis");
  }
  return check.shape(operand, first.view.shape(), "the shape of ", first.name);
}

void set_chain(const ElementwiseFamily& op, ElementwiseParams& params) {
  params.chain[0] = make_step(op.function, op.scalar);
  params.steps = 1;
  if (op.chain.empty()) return;
  std::copy(op.chain.begin(), op.chain.end(), params.chain);
  params.steps = static_cast<uint32_t>(op.chain.size());
}

}  // namespace

Result<void> encode_elementwise(Encoder& encoder, std::string_view operation,
                                const ElementwiseFamily& op) {
  const Check check(operation);
  const auto& [in0, in1, in2] = op.inputs;
  const auto& [out0, out1] = op.outputs;
  for (const Named& input : op.inputs) {
    if (input.name.empty()) break;
    NORITE_TRY(check_operand(check, input, in0));
    NORITE_TRY(check.dtype(input, {in0.view.dtype()}));
  }
  for (const Named& output : op.outputs) {
    if (!output.view && &output != &out0) continue;
    NORITE_TRY(check_operand(check, output, in0));
    if (!op.converts) NORITE_TRY(check.dtype(output, {in0.view.dtype()}));
  }
  const std::array in_place = {in0.name, in1.name, in2.name};
  NORITE_TRY(check.memory(encoder, {{out0, in_place}, {out1, in_place}}, {in0, in1, in2}));

  // The first output leads: rows follow its memory.
  ElementwiseParams params = {};
  NORITE_TRY(merge_axes(check,
                        {{kElementwiseOut0, out0},
                         {kElementwiseOut1, out1},
                         {kElementwiseIn0, in0},
                         {kElementwiseIn1, in1},
                         {kElementwiseIn2, in2}},
                        params));
  set_chain(op, params);
  std::vector<Argument> arguments = bind(kElementwiseParams + 1, {{kElementwiseIn0, in0.view},
                                                                  {kElementwiseIn1, in1.view},
                                                                  {kElementwiseIn2, in2.view},
                                                                  {kElementwiseOut0, out0.view},
                                                                  {kElementwiseOut1, out1.view}});
  arguments[kElementwiseParams] = Argument::bytes(params);
  return dispatch(encoder, operation, "elementwise", std::move(arguments),
                  [&] { return plan_elementwise(params, arguments); });
}

Result<void> encode_product_backward(Encoder& encoder, std::string_view operation,
                                     const ProductBackward& op) {
  const Named dy{"dy", op.dy}, a{"a", op.a}, b{"b", op.b}, da{"da", op.da}, db{"db", op.db};
  if (!op.da && !op.db) {
    return Check(operation).refuse("da", "and db are not given", "at least one of them");
  }
  if (!op.da) {
    return encode_elementwise(encoder, operation,
                              {.function = op.forward, .inputs = {{a, dy}}, .outputs = {{db}}});
  }
  return encode_elementwise(encoder, operation,
                            {.function = op.both, .inputs = {{dy, a, b}}, .outputs = {{da, db}}});
}

}  // namespace norite::ops
