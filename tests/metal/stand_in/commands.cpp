// SPDX-License-Identifier: MIT
#include "metal/stand_in/commands.hpp"

#include <fmt/format.h>

#include <chrono>

#include "metal/stand_in/settings.hpp"

namespace norite::stand_in {

namespace {

enum Status : NSUInteger { not_enqueued = 0, committed = 2, completed = 4, failed = 5 };

struct CommandBufferDescriptor : Instance {
  CommandBufferDescriptor();
  bool retains = true;
};

double now_seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// --- Queue and command buffer ------------------------------------------------------------------

void set_error_options(CommandBufferDescriptor*, Sel, NSUInteger) {}
void set_retained_references(CommandBufferDescriptor* self, Sel, bool on) { self->retains = on; }

Id command_buffer(Queue* self, Sel, Id descriptor) {
  const std::scoped_lock lock(books());
  ++stand_in_metal()->command_buffers;
  const bool retains = from_id<CommandBufferDescriptor>(descriptor)->retains;
  return autoreleased(new CommandBuffer(self, retains));
}
void add_residency_set(Queue*, Sel, Id set) {
  if (set == nullptr) breach("addResidencySet: without a set");
}

Id compute_encoder(CommandBuffer* self, Sel, NSUInteger dispatch_type) {
  const std::scoped_lock lock(books());
  if (self->progress->get() != not_enqueued) {
    breach("an encoder is made of a committed command buffer");
  }
  if (self->encoding) breach("an encoder is made while another has not ended");
  self->encoding = true;
  return autoreleased(new Encoder(self, dispatch_type == metal::MTLDispatchTypeConcurrent));
}
void commit(CommandBuffer* self, Sel) {
  {
    const std::scoped_lock lock(books());
    if (self->encoding) return breach("commit: before the encoder's endEncoding");
    if (self->progress->get() != not_enqueued) return breach("commit: for the second time");
    self->progress->set(committed);
    self->take_resources(1);
  }
  self->queue->worker->post([buffer = Hold<CommandBuffer>(self)]() mutable {
    const auto progress = buffer->progress;
    const NSUInteger end = buffer->run();
    buffer = {};
    progress->set(end);
  });
}
void wait_until_completed(CommandBuffer* self, Sel) {
  if (self->progress->get() == not_enqueued) return breach("waitUntilCompleted: before commit");
  self->progress->wait_for_end();
}
NSUInteger status(CommandBuffer* self, Sel) { return self->progress->get(); }
Id error(CommandBuffer* self, Sel) { return id_of(self->error.get()); }
double gpu_start_time(CommandBuffer* self, Sel) { return self->start_seconds; }
double gpu_end_time(CommandBuffer* self, Sel) { return self->end_seconds; }

// --- Encoder -----------------------------------------------------------------------------------

bool open(Encoder* self, const char* message) {
  if (!self->ended) return true;
  breach(fmt::format("{} after endEncoding", message));
  return false;
}

void set_pipeline(Encoder* self, Sel, Id pipeline) {
  if (!open(self, "setComputePipelineState:")) return;
  self->state.pipeline = from_id<Pipeline>(pipeline);
}
void set_buffer(Encoder* self, Sel, Id buffer, NSUInteger offset, NSUInteger index) {
  if (!open(self, "setBuffer:offset:atIndex:")) return;
  if (index > 30) return breach(fmt::format("setBuffer: at index {}, of at most 30", index));
  auto* const memory = from_id<Buffer>(buffer);
  if (memory != nullptr && offset >= memory->length()) {
    return breach(fmt::format("setBuffer: offset {} of {} bytes", offset, memory->length()));
  }
  self->state.bound[index] = {memory, offset};
}
void set_bytes(Encoder* self, Sel, const void* bytes, NSUInteger length, NSUInteger index) {
  if (!open(self, "setBytes:length:atIndex:")) return;
  if (index > 30) return breach(fmt::format("setBytes: at index {}, of at most 30", index));
  if (length == 0 || length > 4096) {
    return breach(fmt::format("setBytes: {} bytes, of 1 to 4096", length));
  }
  const auto* const first = static_cast<const std::byte*>(bytes);
  self->state.bound[index] = {nullptr, 0, {first, first + length}};
}
void set_threadgroup_memory(Encoder* self, Sel, NSUInteger length, NSUInteger index) {
  if (!open(self, "setThreadgroupMemoryLength:atIndex:")) return;
  if (length % 16 != 0) {
    return breach(fmt::format("setThreadgroupMemoryLength: {} is no multiple of 16", length));
  }
  self->state.slots[index] = length;
}
void memory_barrier(Encoder* self, Sel, NSUInteger scope) {
  if (!open(self, "memoryBarrierWithScope:")) return;
  if (scope != metal::MTLBarrierScopeBuffers) breach("memoryBarrierWithScope: not for buffers");
  self->state.barrier_before = true;
  const std::scoped_lock lock(books());
  ++stand_in_metal()->barriers;
}
void insert_debug_signpost(Encoder* self, Sel, Id text) {
  if (open(self, "insertDebugSignpost:")) self->state.signpost = text_of(text);
}

/// A dispatch as Apple's validation judges it; what is wrong, or nothing.
std::string judge(const Dispatch& dispatch) {
  if (dispatch.pipeline == nullptr) return "there is no pipeline";
  const auto& parameters = dispatch.pipeline->kernel.parameters();
  for (NSUInteger i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    if (parameter.access == Access::none || parameter.optional) continue;
    const auto found = dispatch.bound.find(i);
    if (found == dispatch.bound.end()) return fmt::format("nothing is bound at index {}", i);
    const Bound& bound = found->second;
    const NSUInteger bytes =
        bound.buffer == nullptr ? bound.bytes.size() : bound.buffer->length() - bound.offset;
    if (bytes < static_cast<NSUInteger>(parameter.min_bytes)) {
      return fmt::format("{} bytes at index {}, of at least {}", bytes, i, parameter.min_bytes);
    }
  }
  NSUInteger threadgroup_bytes = stand_in_metal()->static_threadgroup_bytes;
  for (const KernelArgument& slot : dispatch.pipeline->info.threadgroup_slots) {
    const auto found = dispatch.slots.find(slot.index);
    if (found == dispatch.slots.end()) {
      return fmt::format("threadgroup memory {} has no length", slot.index);
    }
    threadgroup_bytes += found->second;
  }
  if (threadgroup_bytes > 32768) {
    return fmt::format("{} bytes of threadgroup memory, of at most 32768", threadgroup_bytes);
  }
  NSUInteger threads = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (dispatch.grid.groups[axis] < 1 || dispatch.grid.threads[axis] < 1)
      return "the grid is empty";
    threads *= static_cast<NSUInteger>(dispatch.grid.threads[axis]);
  }
  if (threads <= dispatch.pipeline->max_threads()) return "";
  return fmt::format("{} threads a group, of at most {}", threads,
                     dispatch.pipeline->max_threads());
}

void record(Encoder* self, const Grid& grid) {
  Dispatch dispatch = self->state;
  dispatch.grid = grid;
  dispatch.barrier_before |= !self->concurrent;
  self->state.barrier_before = false;
  self->state.signpost.clear();
  const std::string wrong = judge(dispatch);
  if (!wrong.empty()) return breach("a dispatch: " + wrong);
  self->pass.dispatches.push_back(std::move(dispatch));
}

std::array<int64_t, 3> extents(MTLSize size) {
  return {static_cast<int64_t>(size.width), static_cast<int64_t>(size.height),
          static_cast<int64_t>(size.depth)};
}
void dispatch_threadgroups(Encoder* self, Sel, MTLSize groups, MTLSize threads) {
  if (!open(self, "dispatchThreadgroups:threadsPerThreadgroup:")) return;
  record(self, {.groups = extents(groups), .threads = extents(threads)});
}
void dispatch_threads(Encoder* self, Sel, MTLSize total, MTLSize threads) {
  if (!open(self, "dispatchThreads:threadsPerThreadgroup:")) return;
  record(self, Grid::of_threads(extents(total), extents(threads)));
}
void end_encoding(Encoder* self, Sel) {
  if (!open(self, "endEncoding")) return;
  self->ended = true;
  self->pass.label = self->label;
  const std::scoped_lock lock(books());
  self->command_buffer->passes.push_back(std::move(self->pass));
  self->command_buffer->encoding = false;
}

Instance* make_descriptor() { return new CommandBufferDescriptor; }

const ClassInfo kDescriptor = ClassInfo("MTLCommandBufferDescriptor", &kObject, make_descriptor)
                                  .with("setErrorOptions:", set_error_options)
                                  .with("setRetainedReferences:", set_retained_references);
const PublicClass public_descriptor(kDescriptor);
const ClassInfo kQueue = ClassInfo("MTLCommandQueue", &kLabelled)
                             .with("commandBufferWithDescriptor:", command_buffer)
                             .with("addResidencySet:", add_residency_set);
const ClassInfo kCommandBuffer =
    ClassInfo("MTLCommandBuffer", &kLabelled)
        .with("computeCommandEncoderWithDispatchType:", compute_encoder)
        .with("commit", commit)
        .with("waitUntilCompleted", wait_until_completed)
        .with("status", status)
        .with("error", error)
        .with("GPUStartTime", gpu_start_time)
        .with("GPUEndTime", gpu_end_time);
const ClassInfo kEncoder =
    ClassInfo("MTLComputeCommandEncoder", &kLabelled)
        .with("setComputePipelineState:", set_pipeline)
        .with("setBuffer:offset:atIndex:", set_buffer)
        .with("setBytes:length:atIndex:", set_bytes)
        .with("setThreadgroupMemoryLength:atIndex:", set_threadgroup_memory)
        .with("memoryBarrierWithScope:", memory_barrier)
        .with("insertDebugSignpost:", insert_debug_signpost)
        .with("dispatchThreadgroups:threadsPerThreadgroup:", dispatch_threadgroups)
        .with("dispatchThreads:threadsPerThreadgroup:", dispatch_threads)
        .with("endEncoding", end_encoding);

CommandBufferDescriptor::CommandBufferDescriptor() : Instance(kDescriptor) {}

}  // namespace

Queue::Queue(Gpu* on) : Instance(kQueue), gpu(on), worker(std::make_unique<core::Waiter>()) {}
void Queue::die() {
  worker.reset();
  gpu = {};
}

void Progress::set(NSUInteger next) {
  const std::scoped_lock lock(mutex_);
  status_ = next;
  changed_.notify_all();
}
NSUInteger Progress::get() const {
  const std::scoped_lock lock(mutex_);
  return status_;
}
void Progress::wait_for_end() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return status_ >= completed; });
}

CommandBuffer::CommandBuffer(Queue* on, bool holds_resources)
    : Instance(kCommandBuffer), queue(on), retains(holds_resources) {}
void CommandBuffer::die() {
  if (encoding) breach("a command buffer is released before its encoder's endEncoding");
  passes.clear();
  error = {};
  queue = {};
}

void CommandBuffer::take_resources(int step) {
  if (retains) return;
  const std::scoped_lock lock(books());
  for (Pass& pass : passes) {
    for (Dispatch& dispatch : pass.dispatches) {
      dispatch.pipeline->uses += step;
      for (auto& [index, bound] : dispatch.bound) {
        if (bound.buffer != nullptr) bound.buffer->uses += step;
      }
    }
  }
}

NSUInteger CommandBuffer::run() {
  const auto before_run = [] {
    const std::scoped_lock lock(books());
    return stand_in_metal()->before_run;
  }();
  if (before_run) before_run();
  Hold<Error> ended_with;
  const double start = now_seconds();
  for (const Pass& pass : passes) {
    auto stopped = run_pass(*queue->gpu.get(), pass);
    if (!stopped) continue;
    ended_with = std::move(*stopped);
    break;
  }
  take_resources(-1);
  const std::scoped_lock lock(books());
  start_seconds = start;
  end_seconds = now_seconds();
  error = std::move(ended_with);
  return error ? failed : completed;
}

Encoder::Encoder(CommandBuffer* into, bool runs_concurrently)
    : Instance(kEncoder), command_buffer(into), concurrent(runs_concurrently) {}
void Encoder::die() {
  if (!ended) breach("an encoder is released before its endEncoding");
  pass = {};
  state = {};
  command_buffer = {};
}

}  // namespace norite::stand_in
