// SPDX-License-Identifier: MIT
// What a kernel's buffer is filled with: `--arg 0=x.npy`, `zeros:f32[4,5]`, `random:f32[4,5]`,
// `bytes:f32:1e-6,300`.
#pragma once

#include <norite/device.hpp>

#include <string>
#include <variant>
#include <vector>

namespace norite::cli {

struct FileArgument {
  std::string path;
  bool as_bf16 = false;  ///< its 16-bit integers are bf16
};

struct ZerosArgument {
  DType dtype = DType::f32;
  Shape shape;
};

/// Normally distributed, the same in every run, other numbers for every argument.
struct RandomArgument {
  DType dtype = DType::f32;
  Shape shape;
};

struct BytesArgument {
  std::vector<std::byte> bytes;
};

using ArgumentSpec = std::variant<FileArgument, ZerosArgument, RandomArgument, BytesArgument>;

/// Errors: invalid_argument.
Result<ArgumentSpec> parse_argument(const std::string& text);

/// Device memory of one argument, and what it holds before every run.
struct ArgumentBuffer {
  Buffer buffer;
  std::vector<std::byte> initial;  ///< empty: zeros

  /// Errors: those of the file and of the device.
  static Result<ArgumentBuffer> make(const Device& device, const ArgumentSpec& spec, int64_t index);
  [[nodiscard]] Result<void> reset();
};

}  // namespace norite::cli
