// SPDX-License-Identifier: MIT
#include "ops/norm/long_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/params.h"
#include "ops/dispatch.hpp"

namespace norite::ops {

namespace {

constexpr int64_t kWordsPerSum = 2;

Result<void> clear_sums(Encoder& encoder, std::string_view operation, const View& sums) {
  constexpr int64_t kThreads = 256;
  const ClearSumsParams params = {.words = static_cast<uint32_t>(sums.shape()[0])};
  std::vector<Argument> arguments(kClearSumsParams + 1);
  arguments[kClearSumsWords] = sums;
  arguments[kClearSumsParams] = Argument::bytes(params);
  return dispatch_text(
      encoder, operation,
      {.kernel = "clear_sums", .macros = {}, .grid = groups_of(params.words, kThreads, kThreads)},
      std::move(arguments));
}

}  // namespace

std::optional<LongRows> fit_long_rows(const Device& device, const LongPlan& plan, int64_t rows,
                                      int64_t sums) {
  const int64_t at_once = device.info().limits.cooperating_units * plan.groups_per_unit;
  const int64_t words = rows * plan.tiles * sums * kWordsPerSum;
  if (plan.tiles > at_once || words > UINT32_MAX) return std::nullopt;
  LongRows fit{.plan = plan.plan, .rows = std::min(at_once / plan.tiles, rows), .words = words};
  fit.plan.grid = {.groups = {fit.rows * plan.tiles, 1, 1}, .threads = {plan.threads, 1, 1}};
  return fit;
}

Result<void> dispatch_long(Encoder& encoder, std::string_view operation, LongRows&& long_rows,
                           std::vector<Argument>&& arguments) {
  auto buffer = encoder.device().pool().acquire(DType::u32, {long_rows.words}, Fill::uninitialised);
  if (!buffer) {
    return fail(buffer.error().code, fmt::format("{}: no memory for shared sums: {}", operation,
                                                 buffer.error().message));
  }
  const View sums(*buffer);
  NORITE_TRY(clear_sums(encoder, operation, sums));
  arguments.emplace_back(sums);
  return dispatch_text(encoder, operation, std::move(long_rows.plan), std::move(arguments));
}

}  // namespace norite::ops
