// SPDX-License-Identifier: MIT
// Where a file format's reader takes its bytes from: a file on disk, or memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>

#include "norite/error.hpp"

namespace norite::io {

struct ByteSource {
  uint64_t bytes = 0;
  /// Fills the target with what comes next; false where there is less.
  std::function<bool(std::span<std::byte>)> read_exactly;
};

/// Errors: not_found, bad_file for what is no regular file or cannot be read.
[[nodiscard]] Result<ByteSource> open_file(const std::filesystem::path& path);
[[nodiscard]] ByteSource from_memory(std::span<const std::byte> bytes);

}  // namespace norite::io
