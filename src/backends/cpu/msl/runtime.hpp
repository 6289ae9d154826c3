// SPDX-License-Identifier: MIT
#pragma once

#include "msl/shim/abi.h"

namespace norite::cpu::msl {

/// The services of the executor, for every compiled kernel alike.
const norite_msl::Runtime& runtime();

}  // namespace norite::cpu::msl
