// SPDX-License-Identifier: MIT
// Rules about the text alone: what Metal refuses although C++ takes it, and what gives other
// results elsewhere.
#pragma once

#include <vector>

#include "msl/finding.hpp"
#include "msl/module.hpp"

namespace norite::msl {

[[nodiscard]] std::vector<Finding> check_portability(const Module& module);

}  // namespace norite::msl
