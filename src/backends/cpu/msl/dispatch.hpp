// SPDX-License-Identifier: MIT
#pragma once

#include "backends/cpu/msl/kernel_object.hpp"
#include "backends/cpu/msl/launch.hpp"
#include "norite/native_kernel.hpp"

namespace norite::cpu::msl {

/// Runs a kernel over a whole grid, its groups on the threads of `call`; those of a checked object
/// one after the other on this thread. Refuses what Metal would refuse.
Result<void> run(const KernelObject& object, const Launch& launch, const NativeCall& call);

}  // namespace norite::cpu::msl
