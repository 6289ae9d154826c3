// SPDX-License-Identifier: MIT
#include "cli/text_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace norite::cli {

namespace fs = std::filesystem;

Result<std::string> read_text(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) {
    return fail(Code::not_found, fmt::format("{}: no such file", path.string()));
  }
  if (!fs::is_regular_file(status)) {
    return fail(Code::bad_file, fmt::format("{}: this is no regular file", path.string()));
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) {
    return fail(Code::bad_file,
                fmt::format("{}: the file is empty or cannot be read", path.string()));
  }
  return text.str();
}

}  // namespace norite::cli
