// SPDX-License-Identifier: MIT
// How graphs record: through ordinary encoders, whose commands they take instead of submitting.
#pragma once

#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "core/command_list.hpp"
#include "norite/device.hpp"

namespace norite::core {

/// What a capture and its encoder share.
struct CaptureSession {
  std::thread::id thread = std::this_thread::get_id();
  bool ended = false;

  /// Refuses to record after the end and from another thread.
  [[nodiscard]] Result<void> check(std::string_view label) const;
};

class Recording {
 public:
  /// An encoder that records for a capture and cannot be submitted.
  [[nodiscard]] static Encoder begin(const Device& device, std::shared_ptr<CaptureSession> session);
  /// What an encoder has recorded and not submitted; an error where it was moved away.
  [[nodiscard]] static Result<std::vector<Command>> take(Encoder& encoder);
};

}  // namespace norite::core
