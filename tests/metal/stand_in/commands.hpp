// SPDX-License-Identifier: MIT
// MTLCommandQueue, MTLCommandBuffer and MTLComputeCommandEncoder: what they record, and whether
// that is allowed.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "core/waiter.hpp"
#include "metal/stand_in/library.hpp"

namespace norite::stand_in {

/// What is bound to one index: memory from an offset on, or bytes.
struct Bound {
  Buffer* buffer = nullptr;
  NSUInteger offset = 0;
  std::vector<std::byte> bytes = {};
};

struct Dispatch {
  Pipeline* pipeline = nullptr;
  std::map<NSUInteger, Bound> bound = {};
  std::map<NSUInteger, NSUInteger> slots = {};  // bytes of threadgroup memory
  std::string signpost = {};
  bool barrier_before = false;
  Grid grid = {};
};

/// An encoder's dispatches; those between two barriers run in any order.
struct Pass {
  std::string label;
  std::vector<Dispatch> dispatches;
};

struct Queue : Instance {
  explicit Queue(Gpu* on);
  void die() override;
  Hold<Gpu> gpu;
  std::unique_ptr<core::Waiter> worker;  // runs committed command buffers, in their order
};

/// How far a command buffer is, for those who wait. It is told when the queue has let go of all
/// else, so that nothing of a device is left to the queue's thread once its work has ended.
struct Progress {
  void set(NSUInteger next);
  [[nodiscard]] NSUInteger get() const;
  void wait_for_end();

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  NSUInteger status_ = 0;
};

struct CommandBuffer : Instance {
  CommandBuffer(Queue* on, bool holds_resources);
  void die() override;
  /// Runs what was recorded, on the queue's thread; the status that it ends with.
  NSUInteger run();
  /// Resources that the command buffer does not hold must live until it has ended.
  void take_resources(int step);

  Hold<Queue> queue;
  bool retains;
  std::vector<Pass> passes;
  bool encoding = false;
  std::shared_ptr<Progress> progress = std::make_shared<Progress>();
  double start_seconds = 0, end_seconds = 0;
  Hold<Error> error;
};

struct Encoder : Instance {
  Encoder(CommandBuffer* into, bool runs_concurrently);
  void die() override;
  Hold<CommandBuffer> command_buffer;
  bool concurrent;
  bool ended = false;
  Dispatch state;  // of the next dispatch
  Pass pass;
};

/// Runs a pass on the machine. The error that ends the command buffer, where one does.
std::optional<Hold<Error>> run_pass(Gpu& gpu, const Pass& pass);

}  // namespace norite::stand_in
