// SPDX-License-Identifier: MIT
#pragma once

#include "cases/case.hpp"
#include "cli/exit_code.hpp"
#include "cli/options.hpp"

namespace norite::cli {

/// The cases of these suites that the filter keeps; none is an error of code invalid_argument with
/// a hint.
Result<std::vector<const cases::Case*>> select_cases(unsigned suites, const Options& options);

}  // namespace norite::cli
