// SPDX-License-Identifier: MIT
// A GPU that executes PTX on the thread that launches: groups of warps, in an order and with
// interruptions that a seed decides. It finds accesses outside of memory, races on shared memory,
// barriers in divergent branches and threads that wait forever. A copy to shared memory arrives
// when it is waited for; until then there is rubbish. Memory is sequentially consistent, which a
// GPU's is not, and nobody looks for races on global memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/ptx/kernel.hpp"
#include "cuda/ptx/races.hpp"

namespace norite::ptx {

using Dim3 = std::array<unsigned, 3>;

/// What a kernel did that it must not do.
struct Fault : std::runtime_error {
  enum class Kind { address, misaligned, race, divergence, stuck };

  Fault(Kind kind, const std::string& what) : std::runtime_error(what), kind(kind) {}

  Kind kind;
};

/// What there is of a GPU's memory: where each allocation begins, and its bytes.
using Allocations = std::map<uint64_t, size_t>;

struct Launch {
  std::shared_ptr<const Kernel> kernel;
  Dim3 groups = {1, 1, 1}, threads = {1, 1, 1};
  std::vector<uint8_t> parameters;
  size_t shared_bytes = 0;   // behind the kernel's own
  bool cooperative = false;  // all groups at the same time
};

class Group;

/// A part of a warp whose lanes are at the same instruction.
struct Split {
  enum class State { ready, at_barrier, at_meeting };

  uint32_t next = 0;
  Mask lanes = 0;
  State state = State::ready;
};

/// A copy to shared memory under way.
struct Copy {
  uint64_t to = 0;  // in the group's shared memory
  uint64_t from = 0;
  unsigned bytes = 0, group = 0;
  bool taken = false;  // its bytes were read when it began
  std::array<uint8_t, 16> contents = {};
};

class Warp {
 public:
  void start(Group& group, unsigned index);
  /// Executes so many instructions, or fewer where no lane can go on.
  void run(unsigned instructions);
  [[nodiscard]] bool ready() const;
  [[nodiscard]] bool ended() const { return splits_.empty(); }
  /// Past a barrier that all threads have reached.
  void leave_barrier();

  template <class T>
  T* at(uint32_t offset) {
    return reinterpret_cast<T*>(file_.data() + offset);
  }
  [[nodiscard]] Group& group() const { return *group_; }
  [[nodiscard]] unsigned thread(unsigned lane) const { return index_ * kLanes + lane; }
  [[nodiscard]] Mask alive() const;
  /// Advances with every bar.warp.sync: what lies before is seen by what lies behind.
  [[nodiscard]] uint32_t meetings() const { return meetings_; }

  void begin_copy(unsigned lane, Copy copy);
  void end_copies(Mask lanes);
  /// Those of all groups of copies but the latest `behind` arrive.
  using Arrive = std::function<void(unsigned lane, const Copy&)>;
  void await_copies(Mask lanes, unsigned behind, const Arrive& arrive);

 private:
  [[nodiscard]] uint32_t value_of(const Special& special, unsigned lane) const;
  void choose();
  void merge();
  void branch(const Instruction& instruction, Mask taken);
  void end(Mask lanes);
  bool meet(const Instruction& instruction);

  Group* group_ = nullptr;
  unsigned index_ = 0;
  std::vector<uint8_t> file_;
  std::vector<Split> splits_;
  size_t current_ = 0;
  uint32_t meetings_ = 0;
  std::array<std::vector<Copy>, kLanes> copies_;
  std::array<unsigned, kLanes> copy_groups_ = {};
};

/// What the groups of a launch share.
struct Execution {
  const Launch& launch;
  const Allocations& memory;
  std::mt19937_64& random;
  uint64_t idle = 0;  // instructions since anything was written, or met at a barrier
};

class Group {
 public:
  explicit Group(Execution& execution);

  void start(const Dim3& position);
  [[nodiscard]] bool ended() const { return alive_ == 0; }
  /// Lets one warp go on; false where none can.
  bool step();
  void arrive(unsigned threads);
  void leave(unsigned threads);

  [[nodiscard]] Execution& execution() { return execution_; }
  [[nodiscard]] const Dim3& position() const { return position_; }
  Races& races() { return races_; }
  [[nodiscard]] std::string describe(unsigned thread, int line) const;

  /// Host memory of an access, checked. In shared memory and among parameters, addresses count from
  /// zero.
  uint8_t* locate(Space space, uint64_t address, size_t bytes, unsigned thread, int line);

 private:
  void release_if_met();

  Execution& execution_;
  Dim3 position_ = {};
  std::vector<Warp> warps_;
  std::vector<uint8_t> shared_;
  Races races_;
  unsigned alive_ = 0, arrived_ = 0;
  uint64_t found_begin_ = 0, found_bytes_ = 0;  // the allocation of the last access
};

/// Executes all of it. Throws Fault.
void execute(const Launch& launch, const Allocations& memory, std::mt19937_64& random);

}  // namespace norite::ptx
