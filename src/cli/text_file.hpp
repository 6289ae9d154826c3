// SPDX-License-Identifier: MIT
#pragma once

#include <norite/error.hpp>

#include <filesystem>
#include <string>

namespace norite::cli {

/// The file's contents. Errors: not_found, bad_file.
Result<std::string> read_text(const std::filesystem::path& path);

}  // namespace norite::cli
