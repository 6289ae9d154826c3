// SPDX-License-Identifier: MIT
// A kernel as the machine executes it. A register holds a value for each of a warp's 32 lanes, side
// by side, so that an instruction is a loop over neighbours. A predicate is one bit per lane.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace norite::ptx {

constexpr unsigned kLanes = 32;
using Mask = uint32_t;
constexpr Mask kAll = 0xffffffff;

class Warp;
struct Instruction;
using Handler = void(Warp&, const Instruction&, Mask);

enum class Space : uint8_t { global, shared, param };

/// What a warp has to see to besides the handler.
enum class Control : uint8_t {
  none,
  branch,
  exit,
  barrier,  // of the group's threads
  meeting,  // of the lanes that `mask` names
};

struct Instruction {
  static constexpr size_t kMost = 10;

  Handler* run = nullptr;
  std::array<uint32_t, kMost> at = {};  // where registers are in a warp's file, results first
  uint32_t guard = 0;
  bool guarded = false, guard_negated = false;
  Control control = Control::none;
  uint32_t target = 0;  // of a branch
  uint32_t mask = 0;    // of a meeting: where the lanes' mask is
  Space space = Space::global;
  uint8_t count = 1;          // values of a vector
  uint8_t address_bytes = 8;  // of the register
  bool atomic = false;        // an access that others may be beside
  int64_t offset = 0;         // behind the address; a number that is part of the instruction
  int64_t source_offset = 0;  // of a copy
  int line = 0;
};

/// A register that tells a thread where it stands.
struct Special {
  enum class Kind : uint8_t { thread, threads, group, groups, lane };

  Kind kind = Kind::lane;
  uint8_t axis = 0;
  uint32_t at = 0;  // 32 bits a lane
};

struct Kernel {
  std::string entry;
  std::vector<Instruction> code;
  size_t file_bytes = 0;  // a warp's registers, those that are constants last
  size_t constants_begin = 0;
  std::vector<uint8_t> constants;
  std::vector<Special> specials;   // those that the kernel reads
  std::vector<size_t> parameters;  // offsets of the entry's parameters
  std::vector<size_t> parameter_bytes;
  size_t all_parameter_bytes = 0;
  size_t shared_bytes = 0;  // without what a launch adds behind it
  unsigned max_threads = 1024;
  /// Variables in global memory, and their bytes.
  std::map<std::string, std::vector<uint64_t>> globals;
  std::map<std::string, size_t> global_bytes;
};

/// Throws std::runtime_error where the text has what the machine does not know.
std::shared_ptr<const Kernel> compile(std::string_view text);

}  // namespace norite::ptx
