// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <span>
#include <string>

#include "backends/metal/objc.hpp"
#include "core/command_list.hpp"

namespace norite::metal {

/// Whether a GPU still takes our work. A fault ends the command buffer that it happened in and
/// nothing else; only a GPU that was removed, or that the system does not let us use any more, is
/// lost. May be shared between threads.
class Health {
 public:
  explicit Health(std::string id) : id_(std::move(id)) {}

  /// Errors: unavailable once the device is lost.
  [[nodiscard]] Result<void> usable() const;
  /// How a command buffer ended. Errors: timeout, out_of_memory, unavailable, execution_failed,
  /// with the name of the dispatch, or of all that it may have been. Wants an AutoreleasePool.
  [[nodiscard]] Result<void> outcome(Id command_buffer, std::span<const core::Command> commands);

 private:
  std::string id_;
  mutable std::mutex mutex_;
  std::string loss_;  // why it is lost; empty while it is not
};

}  // namespace norite::metal
