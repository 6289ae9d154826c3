// SPDX-License-Identifier: MIT
#include "ops/row_operations.hpp"

#include "host_values.hpp"

namespace norite::test {

RowOperands RowOperands::make(const Device& device, DType dtype, const Shape& shape) {
  const int64_t dim = shape.back(), count = *shape.count();
  RowOperands inputs;
  inputs.x = upload(device, dtype, shape, pattern(count, 1));
  inputs.weight = upload(device, dtype, {dim}, pattern(dim, 2));
  inputs.other = upload(device, dtype, shape, pattern(count, 3));
  return inputs.with_own_outputs(device);
}

RowOperands RowOperands::with_own_outputs(const Device& device) const {
  RowOperands other_outputs = *this;
  other_outputs.y = must(device.empty(x.dtype(), x.shape()));
  other_outputs.second = must(device.empty(x.dtype(), x.shape()));
  other_outputs.per_row = must(device.empty(DType::f32, {x.shape()[0]}));
  other_outputs.sums = must(device.empty(DType::f32, {x.shape().back()}));
  return other_outputs;
}

const std::vector<RowOperation>& row_operations() {
  static const std::vector<RowOperation> all = {
      {"rms_norm", 0,
       [](Encoder& e, const RowOperands& on, int64_t) {
         return ops::rms_norm(e,
                              {.x = on.x, .weight = on.weight, .y = on.y, .rms_inv = on.per_row});
       }},
      {"rms_norm_mul", 0,
       [](Encoder& e, const RowOperands& on, int64_t) {
         return ops::rms_norm_mul(e,
                                  {.x = on.x, .weight = on.weight, .scale = on.other, .y = on.y});
       }},
      {"residual_rms_norm", 0,
       [](Encoder& e, const RowOperands& on, int64_t) {
         return ops::residual_rms_norm(
             e,
             {.x = on.x, .residual = on.other, .weight = on.weight, .sum = on.second, .y = on.y});
       }},
      {"rms_norm_backward", 0,
       [](Encoder& e, const RowOperands& on, int64_t) {
         return ops::rms_norm_backward(
             e, {.x = on.x, .weight = on.weight, .dy = on.other, .dx = on.y, .dw = on.sums});
       }},
      {"rms_norm_backward_dx", 0,
       [](Encoder& e, const RowOperands& on, int64_t) {
         return ops::rms_norm_backward(
             e, {.x = on.x, .weight = on.weight, .dy = on.other, .dx = on.y});
       }},
      {"rms_norm_compute_rms_inv", 0,
       [](Encoder& e, const RowOperands& on, int64_t) {
         return ops::rms_norm_compute_rms_inv(e, {.x = on.x, .rms_inv = on.per_row});
       }},
      {"fused_head_norm_rope", 3,
       [](Encoder& e, const RowOperands& on, int64_t first) {
         return ops::fused_head_norm_rope(
             e, {.x = on.x, .weight = on.weight, .y = on.y, .angles = {.first_position = first}});
       }},
      {"fused_head_norm_rope_copy", 3,
       [](Encoder& e, const RowOperands& on, int64_t first) {
         return ops::fused_head_norm_rope(e, {.x = on.x,
                                              .weight = on.weight,
                                              .y = on.y,
                                              .copy = on.second,
                                              .angles = {.first_position = first}});
       }},
      {"fused_head_norm_rope_backward_dx", 3,
       [](Encoder& e, const RowOperands& on, int64_t first) {
         return ops::fused_head_norm_rope_backward(e, {.x = on.x,
                                                       .weight = on.weight,
                                                       .dy = on.other,
                                                       .dx = on.y,
                                                       .angles = {.first_position = first}});
       }},
      {"rope", 3,
       [](Encoder& e, const RowOperands& on, int64_t first) {
         return ops::rope(e, {.x = on.x, .y = on.y, .angles = {.first_position = first}});
       }},
      {"rope_backward", 3,
       [](Encoder& e, const RowOperands& on, int64_t first) {
         return ops::rope_backward(e,
                                   {.dy = on.x, .dx = on.y, .angles = {.first_position = first}});
       }},
      {"gelu_mul", 0,
       [](Encoder& e, const RowOperands& on, int64_t) {
         return ops::gelu_mul(e, {.a = on.x, .b = on.other, .y = on.y});
       }},
      {"flash_attn_train_bwd_compute_d", 0,
       [](Encoder& e, const RowOperands& on, int64_t) {
         return ops::flash_attn_train_bwd_compute_d(e,
                                                    {.o = on.x, .d_o = on.other, .d = on.per_row});
       }},
  };
  return all;
}

}  // namespace norite::test
