// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "elementwise/params.h"
#include "ops/plan.hpp"

namespace norite::ops {

/// Arguments by ElementwiseArgument.
Plan plan_elementwise(const ElementwiseParams& params, std::span<const Argument> arguments);

}  // namespace norite::ops
