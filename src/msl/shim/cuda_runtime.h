// SPDX-License-Identifier: MIT
// From what the host launches to the parameters of a kernel function.
#pragma once
#include "shim/arguments.h"
#include "shim/config.h"
#include "shim/cuda_abi.h"
#include "shim/cuda_meeting.h"

namespace norite_msl {

/// Room for a threadgroup variable of any type; nothing constructs it.
template <class T>
struct Shared {
  alignas(T) unsigned char bytes[sizeof(T)];
  NORITE_MSL_INLINE T& value() { return *reinterpret_cast<T*>(bytes); }
};

extern __shared__ __align__(16) unsigned char threadgroup_memory[];

/// What a pointer or a reference names.
template <class F, unsigned I>
using pointee_t = metal::remove_pointer_t<metal::remove_reference_t<parameter_t<F, I>>>;

/// What the host hands over for a buffer: a pointer, or the bytes of what it names.
template <class F, unsigned I>
using pointer_t = pointee_t<F, I>*;
template <class T, bool Small = (sizeof(T) <= kMaxValueBytes)>
struct Value {
  T value;
  NORITE_MSL_INLINE const T& get() const { return value; }
};
template <class T>
struct Value<T, false> {
  const T* pointer;
  NORITE_MSL_INLINE const T& get() const { return *pointer; }
};
template <class F, unsigned I>
using value_t = Value<metal::remove_cv_t<pointee_t<F, I>>>;

template <class F, unsigned I>
NORITE_MSL_INLINE parameter_t<F, I> threadgroup_argument(unsigned offset) {
  return Bound<parameter_t<F, I>>::to(threadgroup_memory + offset);
}

NORITE_MSL_INLINE unsigned lesser(unsigned a, unsigned b) { return a < b ? a : b; }

/// The group that a block is; past the last one where there is none.
NORITE_MSL_INLINE Uint3 group_of_block(const GridShape& shape) {
  if (!shape.folded) return {blockIdx.x, blockIdx.y, blockIdx.z};
  const unsigned long number = blockIdx.x + (unsigned long)blockIdx.y * gridDim.x;
  const unsigned long row = number / shape.groups[0];
  return {unsigned(number % shape.groups[0]), unsigned(row % shape.groups[1]),
          unsigned(row / shape.groups[1])};
}

/// Where this thread stands; false for one that stands nowhere.
NORITE_MSL_INLINE bool find_place(const GridShape& shape, ThreadPlace& t) {
  t.groups = {shape.groups[0], shape.groups[1], shape.groups[2]};
  t.grid_size = {shape.threads[0], shape.threads[1], shape.threads[2]};
  t.dispatch_group_size = {blockDim.x, blockDim.y, blockDim.z};
  t.group_position = group_of_block(shape);
  if (shape.folded && t.group_position.z >= shape.groups[2]) return false;
  const Uint3 first = {t.group_position.x * blockDim.x, t.group_position.y * blockDim.y,
                       t.group_position.z * blockDim.z};
  t.index_in_group = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  t.group_size = t.dispatch_group_size;
  t.position_in_group = {threadIdx.x, threadIdx.y, threadIdx.z};
  if (shape.ragged) {
    // The living threads are the first ones of the block, numbered as those of a smaller group.
    t.group_size = {lesser(blockDim.x, shape.threads[0] - first.x),
                    lesser(blockDim.y, shape.threads[1] - first.y),
                    lesser(blockDim.z, shape.threads[2] - first.z)};
    const unsigned row = t.index_in_group / t.group_size.x;
    t.position_in_group = {t.index_in_group % t.group_size.x, row % t.group_size.y,
                           row / t.group_size.y};
    if (t.position_in_group.z >= t.group_size.z) return false;
  }
  t.position_in_grid = {first.x + t.position_in_group.x, first.y + t.position_in_group.y,
                        first.z + t.position_in_group.z};
  t.lane = t.index_in_group % kSimdWidth;
  t.simdgroup = t.index_in_group / kSimdWidth;
  t.simdgroups = (t.group_size.x * t.group_size.y * t.group_size.z + kSimdWidth - 1) / kSimdWidth;
  return true;
}

/// Brings constants that were launched with the kernel into the constant cache, all at once.
template <class T>
NORITE_MSL_INLINE void touch(const T& constants) {
  constexpr unsigned kLineWords = 16;
  const auto* const words = reinterpret_cast<const unsigned*>(&constants);
#pragma unroll
  for (unsigned i = 0; i < sizeof(T) / sizeof(unsigned); i += kLineWords) {
    asm volatile("" : : "r"(words[i]));
  }
}

/// A kernel may be launched before the one ahead of it in the stream has ended, so that getting it
/// going costs no time: it lets the next one do the same, and touches no memory until all that came
/// before is done.
NORITE_MSL_INLINE void wait_for_turn() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}

}  // namespace norite_msl
