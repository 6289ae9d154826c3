// SPDX-License-Identifier: MIT
#pragma once

#include "cli/exit_code.hpp"
#include "cli/options.hpp"

namespace norite::cli {

ExitCode demo(const Options& options);
ExitCode devices(const Options& options);
ExitCode ops(const Options& options);
ExitCode verify(const Options& options);
ExitCode bench(const Options& options);
ExitCode graph_show(const Options& options);

}  // namespace norite::cli
