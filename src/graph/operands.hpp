// SPDX-License-Identifier: MIT
// A dispatch of a built-in kernel holds its operation whole: operands by position, options in its
// constants.
#pragma once

#include <cstring>

#include "core/command_list.hpp"

namespace norite::graph {

inline const View& operand(const core::Command& command, int position) {
  return command.arguments[static_cast<size_t>(position)].view();
}

template <class Params>
Params constants(const core::Command& command, int position) {
  Params params;
  std::memcpy(&params, command.arguments[static_cast<size_t>(position)].constants().data(),
              sizeof params);
  return params;
}

}  // namespace norite::graph
