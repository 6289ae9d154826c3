// SPDX-License-Identifier: MIT
#pragma once

#include <span>

#include "attention/params.h"
#include "ops/plan.hpp"

namespace norite::ops {

/// Of flash_attn_train_bwd_compute_d; arguments by ComputeDArgument.
Plan plan_compute_d(const ComputeDParams& params, std::span<const Argument> arguments);

}  // namespace norite::ops
