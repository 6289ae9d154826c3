// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/fault.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backends/cpu/msl/source_lines.hpp"
#include "backends/cpu/msl/strands.hpp"

namespace norite::cpu::msl {

namespace {

// Further away than this, an address has nothing to do with the buffer nearest to it.
constexpr uint64_t kNearby = uint64_t{1} << 36;

uint64_t distance(uintptr_t address, const BufferBinding& buffer) {
  const auto begin = reinterpret_cast<uintptr_t>(buffer.data);
  if (address < begin) return begin - address;
  return address - std::min<uintptr_t>(address, begin + buffer.bytes);
}

// ", 4 bytes past the end of buffer 1 "out""; empty when no buffer is near.
std::string near_buffer(uintptr_t address, const Launch& launch) {
  const auto nearest = std::min_element(
      launch.buffers.begin(), launch.buffers.end(),
      [&](const auto& a, const auto& b) { return distance(address, a) < distance(address, b); });
  if (nearest == launch.buffers.end() || distance(address, *nearest) > kNearby) return "";

  std::string name = fmt::format("buffer {}", nearest->index);
  if (!nearest->name.empty()) name += fmt::format(" \"{}\"", nearest->name);
  const auto begin = reinterpret_cast<uintptr_t>(nearest->data);
  if (address < begin) return fmt::format(", {} bytes before {}", begin - address, name);
  const uint64_t offset = address - begin;
  if (offset < nearest->bytes) return fmt::format(", byte {} of {}", offset, name);
  return fmt::format(", {} bytes past the end of {}", offset - nearest->bytes, name);
}

std::string what_happened(const Fault& fault, const Launch& launch) {
  switch (fault.kind) {
    case Fault::Kind::memory:
      return fmt::format("accessed memory that is not its own (address 0x{:x}{})", fault.address,
                         near_buffer(fault.address, launch));
    case Fault::Kind::wild_memory:
      return "accessed memory that is not its own (an address that no memory has)";
    case Fault::Kind::stack:
      return fmt::format("ran out of stack ({} KiB)", Strands::kStackBytes >> 10);
    case Fault::Kind::division:
      return "divided an integer by zero, or the least integer by -1";
    case Fault::Kind::trap:
      break;
  }
  return fmt::format("ran into a trap (signal {})", fault.signal);
}

// Empty when the instruction is in no text: that of a function that the kernel called, say.
std::string line_of(const Fault& fault, const KernelObject& object) {
  const auto* instruction = reinterpret_cast<const void*>(fault.instruction);
  if (!object.contains(instruction)) return "";
  // Lines go by the address behind an instruction.
  const std::array site = {object.offset(instruction) + 1};
  return fmt::format(" at {}", source_lines(object.path(), site).front());
}

}  // namespace

std::string describe(const Fault& fault, const KernelObject& object, const Launch& launch) {
  return what_happened(fault, launch) +
         (object.checked() ? line_of(fault, object) : "; run it checked to see where");
}

}  // namespace norite::cpu::msl
