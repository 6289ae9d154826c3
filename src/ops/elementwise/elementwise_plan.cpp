// SPDX-License-Identifier: MIT
#include "ops/elementwise/elementwise_plan.hpp"

#include "ops/elementwise/function_text.hpp"
#include "ops/row_plan.hpp"
#include "ops/rows.hpp"

namespace norite::ops {

namespace {

// Whether rows of the operand can be read and written in packs of `width`.
bool takes_packs(const Argument& operand, const ElementwiseStrides& strides, int64_t width) {
  if (!operand.bound()) return true;
  const auto& rows = strides.rows.stride;
  return strides.step == 1 &&
         is_aligned(operand, {rows[0], rows[1], rows[2]}, width * size_of(operand.view().dtype()));
}

}  // namespace

Plan plan_elementwise(const ElementwiseParams& params, std::span<const Argument> arguments) {
  constexpr int64_t kThreads = 256;
  const DType in = arguments[kElementwiseIn0].view().dtype();
  const DType out = arguments[kElementwiseOut0].view().dtype();
  const bool second_output = arguments[kElementwiseOut1].bound();
  int64_t inputs = 0;
  int64_t width = 16 / size_of(in);
  for (int i = kElementwiseIn0; i < kElementwiseParams; ++i) {
    if (i <= kElementwiseIn2 && arguments[i].bound()) ++inputs;
    if (!takes_packs(arguments[i], params.operands[i], width)) width = 1;
  }
  const int64_t rows = row_count(params.rows);
  const int64_t packs = rows * ((params.dim - 1) / width + 1);
  return {.key = {"elementwise",
                  {{"IN_TYPE", kernel_type(in)},
                   {"OUT_TYPE", kernel_type(out)},
                   {"INPUTS", inputs},
                   {"OUTPUTS", second_output ? 2 : 1},
                   {"CHAIN", chain_text({params.chain, params.steps}, second_output)},
                   {"ONE_ROW", flag(rows == 1)},
                   {"ROW_DIMS", row_dims(params.rows)},
                   {"WIDTH", width},
                   {"THREADS", kThreads}}},
          .grid = groups_of(packs, kThreads, kThreads)};
}

}  // namespace norite::ops
