// SPDX-License-Identifier: MIT
#include "cli/selection.hpp"

#include <fmt/format.h>

#include <set>

namespace norite::cli {

Result<std::vector<const cases::Case*>> select_cases(unsigned suites, const Options& options) {
  auto selected = cases::select(suites, options.filter);
  if (!selected.empty()) return selected;
  std::set<std::string_view> operations;
  for (const cases::Case& row : cases::all_cases()) operations.insert(row.op);
  std::string hint;
  for (const std::string_view op : operations) hint += fmt::format("\n  {}", op);
  return fail(
      Code::invalid_argument,
      fmt::format("no case contains '{}'. Case names begin with an operation and its dtype, "
                  "as in 'rms_norm[bf16,'; the operations are:{}",
                  options.filter, hint));
}

}  // namespace norite::cli
