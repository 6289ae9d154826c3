// SPDX-License-Identifier: MIT
// A plan says in which form a kernel's text suits an operation: the macros to compile it with and
// the grid to launch. It follows from shapes, dtypes and places in memory by small tables, and
// whatever shapes a row's sum follows from the length of the row alone: a row has the same bits
// among any others. The device decides whether rows wait in threadgroup memory or are shared by
// groups, and how many groups work at once (norm/long_rows.hpp).
#pragma once

#include <algorithm>
#include <initializer_list>

#include "core/kernel_key.hpp"
#include "core/storage.hpp"

namespace norite::ops {

struct Plan {
  core::KernelKey key;
  Grid grid;
  int64_t columns = 0;  // of a row, which kernels count in 32 bits
};

/// The dtype's name in kernels.
inline const char* kernel_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "half";
    case DType::bf16:
      return "bfloat";
    default:
      return "float";
  }
}

/// The type macro of an operand; where it is absent, something to compile with.
inline const char* kernel_type(const Argument& operand, const Argument& otherwise) {
  return kernel_type((operand.bound() ? operand : otherwise).view().dtype());
}

/// 1 or 0.
constexpr int flag(bool value) { return value ? 1 : 0; }

/// Backends align what they allocate, so that an offset may stand for the address; memory of the
/// host's own may begin anywhere.
inline int64_t address_of(const View& view) {
  const auto* data = view.buffer().storage()->host_data();
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data)) + view.byte_offset();
}

/// Bytes by which an operand begins after a pack.
inline int64_t begin_in_pack(const Argument& operand) { return address_of(operand.view()) % 16; }

/// Whether packs of `pack_bytes` can be read and written in accesses of 16 bytes (or of the pack,
/// where it is smaller) at the operand's first element and at `strides` elements from it and from
/// each other. A pack has a power of two of bytes. What is absent is aligned.
inline bool is_aligned(const Argument& operand, std::initializer_list<int64_t> strides,
                       int64_t pack_bytes = 16) {
  if (!operand.bound()) return true;
  const View& view = operand.view();
  const int64_t below = std::min<int64_t>(pack_bytes, 16) - 1;  // bits of what is not a multiple
  int64_t bits = address_of(view);
  for (const int64_t stride : strides) bits |= stride * size_of(view.dtype());
  return (bits & below) == 0;
}

/// `items` shared out over groups of `each`, with `threads` threads a group.
inline Grid groups_of(int64_t items, int64_t each, int64_t threads) {
  return {.groups = {(items - 1) / each + 1, 1, 1}, .threads = {threads, 1, 1}};
}

}  // namespace norite::ops
