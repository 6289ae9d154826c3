// SPDX-License-Identifier: MIT
#pragma once

#include <norite/error.hpp>

#include <memory>

namespace norite {

namespace core {
class Completion;
}

/// Stands for submitted work. Copies refer to the same work; any thread may wait.
class NORITE_API Event {
 public:
  Event() = default;
  explicit Event(std::shared_ptr<core::Completion> completion) noexcept
      : completion_(std::move(completion)) {}

  /// Blocks until the work has ended. The error, if a dispatch failed, names that dispatch.
  [[nodiscard]] Result<void> wait() const;
  [[nodiscard]] bool done() const;

 private:
  std::shared_ptr<core::Completion> completion_;
};

}  // namespace norite
