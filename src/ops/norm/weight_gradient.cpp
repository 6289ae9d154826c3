// SPDX-License-Identifier: MIT
#include "ops/norm/weight_gradient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "norite/device.hpp"
#include "norm/params.h"
#include "ops/dispatch.hpp"
#include "ops/norm/rms_norm_plan.hpp"

namespace norite::ops {

Result<void> check_gradients(const Check& check, const View& weight, const View& dx,
                             const View& dw) {
  if (!dx && !dw) return check.refuse("dx", "and dw are not given", "at least one of them");
  if (dw && !weight) return check.refuse("dw", "is given without weight", "weight as well");
  return {};
}

int64_t rows_per_partial(const Encoder& encoder, std::string_view kernel, int64_t rows,
                         int64_t groups) {
  return has_native(encoder, kernel) ? std::clamp<int64_t>(rows / 64, 16, 256)
                                     : std::max<int64_t>((rows - 1) / groups + 1, 4);
}

Result<View> acquire_partials(Encoder& encoder, std::string_view operation, int64_t partials,
                              int64_t dim) {
  const auto buffer =
      encoder.device().pool().acquire(DType::f32, {partials, dim}, Fill::uninitialised);
  if (buffer) return View(*buffer);
  return fail(buffer.error().code,
              fmt::format("{}: no partial sums of dw: {}", operation, buffer.error().message));
}

Result<void> encode_sum_partials(Encoder& encoder, std::string_view operation, const View& partials,
                                 const View& dw) {
  const SumPartialsParams params = {.partials = partials.shape()[0], .dim = partials.shape()[1]};
  std::vector<Argument> arguments =
      bind(kSumPartialsParams + 1, {{kSumPartialsIn, partials}, {kSumPartialsOut, dw}});
  arguments[kSumPartialsParams] = Argument::bytes(params);
  return dispatch(encoder, operation, "sum_partials", std::move(arguments),
                  [&] { return plan_sum_partials(params, arguments); });
}

}  // namespace norite::ops
