// SPDX-License-Identifier: MIT
#pragma once

#include "core/builtin_kernels.hpp"
#include "core/command_list.hpp"

namespace norite::cpu {

/// How much work a command is, in bytes that it moves, for deciding whether to hand it to another
/// thread. Nobody knows how long kernels of the user's take: they count as very many.
inline int64_t work_bytes(const core::Command& command) {
  constexpr int64_t kVeryMany = int64_t{1} << 30;
  return core::find_builtin(command.pipeline.name()) != nullptr ? command.bytes : kVeryMany;
}

}  // namespace norite::cpu
