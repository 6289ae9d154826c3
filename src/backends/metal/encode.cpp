// SPDX-License-Identifier: MIT
#include "backends/metal/encode.hpp"

#include <fmt/format.h>

#include <cstring>

#include "backends/metal/foundation.hpp"
#include "backends/metal/memory.hpp"
#include "backends/metal/text_kernel.hpp"
#include "core/backend.hpp"

namespace norite::metal {

namespace {

constexpr size_t kMostInlineBytes = 4096;  // of setBytes

const TextKernel& kernel_of(const core::Command& command) {
  return static_cast<const TextKernel&>(*command.pipeline.state());
}

MTLSize size_of(const std::array<int64_t, 3>& extents) {
  return {static_cast<NSUInteger>(extents[0]), static_cast<NSUInteger>(extents[1]),
          static_cast<NSUInteger>(extents[2])};
}

/// Metal takes lengths of slots in steps of 16 bytes.
int64_t slot_bytes(int64_t bytes) { return (bytes + 15) / 16 * 16; }

Result<void> check_threadgroup_memory(const core::Command& command) {
  const TextKernel& kernel = kernel_of(command);
  const int64_t most = kernel.backend()->info().limits.max_group_memory_bytes;
  int64_t slots = 0;
  for (const int64_t bytes : command.grid.threadgroup_memory) slots += slot_bytes(bytes);
  if (slots + kernel.static_bytes() <= most) return {};
  return fail(Code::invalid_argument,
              fmt::format("{}: {} bytes of threadgroup memory in slots, and the kernel's own "
                          "variables leave {} of {}",
                          command.label, slots, most - kernel.static_bytes(), most));
}

/// A thread's position has 32 bits along each axis.
Result<void> check_extents(const core::Command& command) {
  for (size_t axis = 0; axis < 3; ++axis) {
    int64_t threads = 0;
    if (__builtin_mul_overflow(command.grid.groups[axis], command.grid.threads[axis], &threads) ||
        threads > UINT32_MAX) {
      return fail(Code::invalid_argument,
                  fmt::format("{}: the grid has more than {} threads along axis {}", command.label,
                              UINT32_MAX, axis));
    }
  }
  return {};
}

Result<Object> placed(Id device, std::span<const std::byte> constants) {
  NORITE_TRY_ASSIGN(Object buffer,
                    new_shared_buffer(device, static_cast<int64_t>(constants.size())));
  std::memcpy(msg::contents(buffer), constants.data(), constants.size());
  return buffer;
}

void bind(Id encoder, NSUInteger index, const Argument& argument, Id large_constants) {
  const auto constants = argument.constants();
  if (argument.view()) {
    const auto& memory = static_cast<const SharedMemory&>(*argument.view().buffer().storage());
    msg::set_buffer(encoder, memory.buffer(),
                    static_cast<NSUInteger>(argument.view().byte_offset()), index);
  } else if (large_constants != nullptr) {
    msg::set_buffer(encoder, large_constants, 0, index);
  } else if (!constants.empty()) {
    msg::set_bytes(encoder, constants.data(), constants.size(), index);
  }
}

}  // namespace

Result<LargeConstants> prepare(Id device, const core::Command& command) {
  NORITE_TRY(check_extents(command));
  NORITE_TRY(check_threadgroup_memory(command));
  LargeConstants large(command.arguments.size());
  for (size_t i = 0; i < large.size(); ++i) {
    const auto constants = command.arguments[i].constants();
    if (constants.size() <= kMostInlineBytes) continue;
    NORITE_TRY_ASSIGN(large[i], placed(device, constants));
  }
  return large;
}

void encode(Id encoder, const core::Command& command, const LargeConstants& large_constants) {
  msg::insert_debug_signpost(encoder, string_of(command.label));
  msg::set_pipeline(encoder, kernel_of(command).pipeline());
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    bind(encoder, i, command.arguments[i], large_constants[i]);
  }
  const Grid& grid = command.grid;
  for (size_t slot = 0; slot < grid.threadgroup_memory.size(); ++slot) {
    const int64_t bytes = slot_bytes(grid.threadgroup_memory[slot]);
    if (bytes > 0) msg::set_threadgroup_memory(encoder, static_cast<NSUInteger>(bytes), slot);
  }
  const MTLSize threads = size_of(grid.threads);
  if (grid.total[0] > 0) {
    msg::dispatch_threads(encoder, size_of(grid.total), threads);
  } else {
    msg::dispatch_threadgroups(encoder, size_of(grid.groups), threads);
  }
}

}  // namespace norite::metal
