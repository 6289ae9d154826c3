// SPDX-License-Identifier: MIT
#pragma once

#include <norite/dtype.hpp>
#include <norite/shape.hpp>

namespace norite::core {

/// Runs of contiguous bytes that repeat at multiples of a pitch, somewhere in [begin, end).
struct ByteRuns {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t run = 0;    // bytes
  int64_t pitch = 0;  // bytes; every run starts at begin + a multiple of it. 0: one run
  int64_t bytes = 0;  // distinct bytes, for counters
};

/// How elements lie in an allocation, with what every dispatch asks of that. It never changes, and
/// copies of a view share it.
struct NORITE_API Layout {
  constexpr Layout() = default;
  /// Of extents >= 1, whose bytes are within an allocation.
  Layout(DType dtype, const Shape& shape, const Strides& strides, int64_t byte_offset) noexcept;

  DType dtype = DType::u8;
  Shape shape;
  Strides strides;  // in elements
  int64_t byte_offset = 0;
  ByteRuns touched;
  bool repeats_itself = false;  // two indices may reach the same byte, so it cannot be written
};

/// Of whatever is not given.
inline constexpr Layout kNoLayout;

}  // namespace norite::core
