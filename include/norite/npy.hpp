// SPDX-License-Identifier: MIT
// NumPy's .npy files: one array each.
#pragma once

#include <norite/dtype.hpp>
#include <norite/error.hpp>
#include <norite/shape.hpp>

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace norite {

struct NpyArray {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> data;  ///< row-major: exactly the bytes that dtype and shape describe
};

/// Reads versions 1 to 3 of the format: little-endian floats and integers that DType has, and
/// booleans as u8. Errors: not_found (no such file), out_of_memory, bad_file (anything else; the
/// message says what was seen and what is taken).
[[nodiscard]] NORITE_API Result<NpyArray> read_npy(const std::filesystem::path& path);
/// The same from a file's bytes.
[[nodiscard]] NORITE_API Result<NpyArray> parse_npy(std::span<const std::byte> bytes);

/// Writes a file of version 1, under another name until it is complete. NumPy has no bf16: such an
/// array is written as u16. Errors: invalid_argument (data that does not fit dtype and shape),
/// bad_file (the file cannot be written).
[[nodiscard]] NORITE_API Result<void> write_npy(const std::filesystem::path& path,
                                                const NpyArray& array);

}  // namespace norite
