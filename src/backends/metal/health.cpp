// SPDX-License-Identifier: MIT
#include "backends/metal/health.hpp"

#include <fmt/format.h>

#include "backends/metal/foundation.hpp"

namespace norite::metal {

namespace {

/// The dispatch that Metal blames: the last one that began in an encoder that faulted. Empty where
/// it blames none.
std::string faulted_dispatch(Id error) {
  std::string name;
  const Id details = msg::user_info(error);
  if (details == nullptr) return name;
  const Id key = *runtime()->MTLCommandBufferEncoderInfoErrorKey;
  for_each(msg::object_for_key(details, key), [&](Id encoder) {
    if (msg::error_state(encoder) != MTLCommandEncoderErrorStateFaulted) return;
    for_each(msg::debug_signposts(encoder), [&](Id signpost) { name = text_of(signpost); });
  });
  return name;
}

Code code_of(NSInteger error) {
  switch (error) {
    case MTLCommandBufferErrorTimeout:
      return Code::timeout;
    case MTLCommandBufferErrorOutOfMemory:
      return Code::out_of_memory;
    default:
      return Code::execution_failed;
  }
}

bool loses_device(NSInteger error) {
  return error == MTLCommandBufferErrorAccessRevoked ||
         error == MTLCommandBufferErrorNotPermitted || error == MTLCommandBufferErrorDeviceRemoved;
}

}  // namespace

Result<void> Health::usable() const {
  const std::scoped_lock lock(mutex_);
  if (loss_.empty()) return {};
  return fail(Code::unavailable, fmt::format("{} is lost: {}", id_, loss_));
}

Result<void> Health::outcome(Id command_buffer, std::span<const core::Command> commands) {
  if (msg::status(command_buffer) != MTLCommandBufferStatusError) return {};
  const Id error = msg::error(command_buffer);
  const NSInteger code = error == nullptr ? 0 : msg::code(error);
  const std::string reason = description_of(error);
  std::string work = error == nullptr ? "" : faulted_dispatch(error);
  if (work.empty()) work = core::describe_work(commands);
  if (loses_device(code)) {
    const std::scoped_lock lock(mutex_);
    if (loss_.empty()) loss_ = fmt::format("{}: {}", work, reason);
    return fail(Code::unavailable, fmt::format("{}: {} is lost: {}", work, id_, reason));
  }
  return fail(code_of(code), fmt::format("{}: {}", work, reason));
}

}  // namespace norite::metal
