// SPDX-License-Identifier: MIT
#include "backends/cuda/launch.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "backends/cuda/memory.hpp"
#include "backends/cuda/text_kernel.hpp"
#include "msl/shim/cuda_abi.h"

namespace norite::cuda {

namespace {

constexpr int64_t kMaxBlocksX = INT32_MAX;
constexpr int64_t kMaxBlocksYZ = 65535;
constexpr int64_t kMaxThreadsZ = 64;  // of a block
constexpr std::string_view kAxes = "xyz";

std::array<unsigned, 3> narrowed(const std::array<int64_t, 3>& values) {
  return {static_cast<unsigned>(values[0]), static_cast<unsigned>(values[1]),
          static_cast<unsigned>(values[2])};
}

/// As few surplus blocks as a rectangle allows.
Result<std::array<unsigned, 3>> folded_blocks(const std::array<int64_t, 3>& groups) {
  int64_t count = 0;
  if (__builtin_mul_overflow(groups[0], groups[1], &count) ||
      __builtin_mul_overflow(count, groups[2], &count) || count > kMaxBlocksX * kMaxBlocksYZ) {
    return fail(Code::invalid_argument,
                fmt::format("{} x {} x {} groups are too many", groups[0], groups[1], groups[2]));
  }
  const int64_t rows = (count - 1) / kMaxBlocksX + 1;
  return narrowed({(count - 1) / rows + 1, rows, 1});
}

/// The entry's parameters as the driver reads them: addresses of the values.
class Parameters {
 public:
  /// The driver reads the bytes while it launches.
  void add_value(const void* bytes) { addresses_[count_++] = const_cast<void*>(bytes); }
  void add_pointer(CUdeviceptr pointer) { add_own(pointer); }
  void add_offset(unsigned offset) { add_own(offset); }
  [[nodiscard]] void** addresses() { return addresses_.data(); }

 private:
  static constexpr size_t kMost =
      norite_msl::kMaxBuffers + norite_msl::kMaxThreadgroupSlots + 1;  // and the grid

  template <class T>
  void add_own(T value) {
    std::memcpy(&values_[count_], &value, sizeof value);
    add_value(&values_[count_]);
  }

  // Not zeroed: this is the path of every launch.
  std::array<uint64_t, kMost> values_;
  std::array<void*, kMost> addresses_;
  size_t count_ = 0;
};

Result<void> add_buffers(const Stream& stream, const KernelForm& form, const core::Command& command,
                         ConstantRing& constants, Parameters& parameters) {
  for (const msl::NvrtcParameter& buffer : form.buffers) {
    const Argument& argument = command.arguments[buffer.index];
    if (argument.view()) {
      parameters.add_pointer(address_of(argument.view()));
    } else if (form.by_value(buffer)) {
      parameters.add_value(argument.constants().data());
    } else {
      NORITE_TRY_ASSIGN(const CUdeviceptr placed, constants.place(stream, argument.constants()));
      parameters.add_pointer(placed);
    }
  }
  return {};
}

/// Adds the offset of each threadgroup slot; gives the bytes of all.
int64_t add_slots(const Grid& grid, Parameters& parameters) {
  int64_t bytes = 0;
  for (const int64_t slot : grid.threadgroup_memory) {
    if (slot == 0) continue;  // not a parameter
    parameters.add_offset(static_cast<unsigned>(bytes));
    bytes += (slot + 15) / 16 * 16;
  }
  return bytes;
}

/// How the stream treats a launch. A kernel whose groups wait for each other runs whole or not at
/// all. One that waits itself for what is ahead of it in the stream (msl/shim/cuda_runtime.h) may
/// get going early: not before all groups of that have begun, so that two of the former kind never
/// wait for each other's places.
class LaunchAttributes {
 public:
  explicit LaunchAttributes(const KernelForm& form) {
    if (form.cooperative) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    if (form.waits_for_turn) add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  }

  CUlaunchAttribute* data() { return attributes_.data(); }
  [[nodiscard]] unsigned count() const { return count_; }

 private:
  void add(int id) { attributes_[count_++] = {.id = id, .value = 1, .rest = {}}; }

  std::array<CUlaunchAttribute, 2> attributes_;  // the first `count_`
  unsigned count_ = 0;
};

}  // namespace

Result<LaunchShape> launch_shape(const Grid& grid) {
  std::array<int64_t, 3> whole, total;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (__builtin_mul_overflow(grid.groups[axis], grid.threads[axis], &whole[axis]) ||
        whole[axis] > UINT32_MAX) {
      return fail(Code::invalid_argument,
                  fmt::format("the grid has more than {} threads in {}", UINT32_MAX, kAxes[axis]));
    }
    total[axis] = grid.total[axis] > 0 ? grid.total[axis] : whole[axis];
  }
  if (grid.threads[2] > kMaxThreadsZ) {
    return fail(Code::invalid_argument, fmt::format("{} threads a group in z, at most {} expected",
                                                    grid.threads[2], kMaxThreadsZ));
  }
  LaunchShape shape{.blocks = narrowed(grid.groups),
                    .threads = narrowed(grid.threads),
                    .folded = grid.groups[0] > kMaxBlocksX || grid.groups[1] > kMaxBlocksYZ ||
                              grid.groups[2] > kMaxBlocksYZ,
                    .ragged = total != whole,
                    .groups = narrowed(grid.groups),
                    .total = narrowed(total)};
  if (shape.folded) {
    NORITE_TRY_ASSIGN(shape.blocks, folded_blocks(grid.groups));
  }
  return shape;
}

Result<void> launch(const Stream& stream, ConstantRing& constants, const core::Command& command) {
  const auto& kernel = static_cast<const TextKernel&>(*command.pipeline.state());
  NORITE_TRY_ASSIGN(const LaunchShape shape, launch_shape(command.grid));
  NORITE_TRY_ASSIGN(const KernelForm* const form, kernel.form_for(command));

  Parameters parameters;
  NORITE_TRY(add_buffers(stream, *form, command, constants, parameters));
  const int64_t shared_bytes = add_slots(command.grid, parameters);
  if (shared_bytes > form->module->max_dynamic_bytes()) {
    return fail(Code::invalid_argument,
                fmt::format("{} bytes of threadgroup memory in slots, and the kernel's own "
                            "variables leave {}",
                            shared_bytes, form->module->max_dynamic_bytes()));
  }
  const norite_msl::GridShape grid{.groups = {shape.groups[0], shape.groups[1], shape.groups[2]},
                                   .threads = {shape.total[0], shape.total[1], shape.total[2]},
                                   .ragged = shape.ragged ? 1U : 0U,
                                   .folded = shape.folded ? 1U : 0U};
  parameters.add_value(&grid);
  LaunchAttributes attributes(*form);
  const CUlaunchConfig config{shape.blocks[0],
                              shape.blocks[1],
                              shape.blocks[2],
                              shape.threads[0],
                              shape.threads[1],
                              shape.threads[2],
                              static_cast<unsigned>(shared_bytes),
                              stream.handle(),
                              attributes.data(),
                              attributes.count()};
  return stream.context().check(stream.driver().cuLaunchKernelEx(&config, form->module->function(),
                                                                 parameters.addresses(), nullptr),
                                "the launch");
}

}  // namespace norite::cuda
