// SPDX-License-Identifier: MIT
#pragma once

#include "cli/kernel.hpp"

#include <norite/kernel_text.hpp>

namespace norite::cli {

/// A kernel file with the macros that the command line defines for it.
struct KernelFile {
  KernelText text;
  Specialisation defines;
};

/// Errors: not_found and bad_file for the file, invalid_argument for a macro that is malformed or
/// occurs nowhere in the file or what it includes.
Result<KernelFile> load_kernel_file(const KernelOptions& options);

/// The message of what is wrong with a file, with the option that may help.
std::string with_hint(std::string message);
/// `report`, with that message.
ExitCode report_kernel(Error error);

}  // namespace norite::cli
