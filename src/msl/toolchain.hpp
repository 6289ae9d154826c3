// SPDX-License-Identifier: MIT
// The clang that turns lowered kernel text into machine code.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "msl/linker.hpp"
#include "norite/error.hpp"

namespace norite::msl {

class Toolchain {
 public:
  /// NORITE_CLANG, else the first clang++ in PATH that is new enough.
  static Result<Toolchain> find();

  /// The compiler's own words, which tell one build of it from another.
  [[nodiscard]] const std::string& version() const noexcept { return version_; }

  /// What the compiler says about text that is not to become an object: its messages, or nothing.
  [[nodiscard]] Result<std::string> examine(std::string_view text,
                                            const std::vector<std::string>& flags) const;

  /// Compiles text to a shared object. Text without a #line of its own goes by the name `<stdin>`
  /// in messages and debug information.
  [[nodiscard]] Result<void> compile(std::string_view text, const std::string& object_path,
                                     std::vector<std::string> flags) const;
  /// The same for text that continues what was precompiled with the same flags, without warnings.
  [[nodiscard]] Result<void> compile_after(const std::string& precompiled_path,
                                           std::string_view text, const std::string& object_path,
                                           std::vector<std::string> flags) const;
  [[nodiscard]] Result<void> precompile(std::string_view text, const std::string& precompiled_path,
                                        std::vector<std::string> flags) const;

 private:
  static Result<Toolchain> at(const std::string& path);
  [[nodiscard]] Result<void> run(std::string_view text, std::vector<std::string> arguments) const;

  Toolchain(std::string path, std::string version, std::optional<Linker> linker)
      : path_(std::move(path)), version_(std::move(version)), linker_(std::move(linker)) {}

  std::string path_;
  std::string version_;
  std::optional<Linker> linker_;  // without one, clang links
};

/// How kernels are compiled for this processor. Checked objects report each access to memory.
std::vector<std::string> compile_flags(bool checked);
/// The same language for this processor, without an object as the aim.
std::vector<std::string> language_flags();
/// C++ for OpenCL, the only language in which clang judges address spaces as Metal does.
std::vector<std::string> lint_flags();

}  // namespace norite::msl
