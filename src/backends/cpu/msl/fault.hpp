// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "backends/cpu/msl/kernel_object.hpp"
#include "backends/cpu/msl/launch.hpp"

namespace norite::cpu::msl {

/// What a kernel's thread did that the machine refuses.
struct Fault {
  enum class Kind : uint8_t {
    memory,
    wild_memory,  // at an address that the system does not tell: no memory can have it
    stack,
    division,  // of integers, by zero or with a quotient that does not fit
    trap,
  };
  Kind kind = Kind::trap;
  int signal = 0;
  uintptr_t address = 0;      // of the memory, for `memory`
  uintptr_t instruction = 0;  // 0: not known
};

/// What the thread did, as the end of a sentence that begins with the thread. Says the line of the
/// kernel's text where the object knows its lines, else how to find out.
std::string describe(const Fault& fault, const KernelObject& object, const Launch& launch);

}  // namespace norite::cpu::msl
