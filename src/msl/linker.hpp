// SPDX-License-Identifier: MIT
// The linker as clang would call it, called without clang.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "norite/error.hpp"

namespace norite::msl {

/// Asked to compile and link, clang starts itself a second time, which takes longer than linking.
class Linker {
 public:
  /// What clang is asked. Its answer begins with the words that --version gives.
  static std::vector<std::string> question();
  /// Nothing where the answer names no linker that is there.
  static std::optional<Linker> from_answer(std::string_view answer);

  /// Makes a shared object of a relocatable one.
  [[nodiscard]] Result<void> link(
      const std::string& relocatable_path, const std::string& object_path,
      std::chrono::milliseconds time_limit = std::chrono::seconds(120)) const;

 private:
  using Arguments = std::vector<std::string>;
  Linker(Arguments before, Arguments between)
      : before_(std::move(before)), between_(std::move(between)) {}

  [[nodiscard]] Arguments call(const std::string& relocatable_path, const std::string& object_path,
                               const Arguments& after) const;

  Arguments before_;   // the object's path
  Arguments between_;  // that and the relocatable's
};

}  // namespace norite::msl
