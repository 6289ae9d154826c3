// SPDX-License-Identifier: MIT
// What a kernel for CUDA and the host that launches it agree on. Included by both.
//
// The entry `norite_msl_entry` takes, in this order: for each bound buffer by index a pointer, or
// the bytes themselves where the parameter is a reference to what is only read; for each
// threadgroup slot by index an unsigned offset into dynamic shared memory, a multiple of 16; a
// GridShape. `norite_msl_buffer_bytes` is an array of kMaxBuffers unsigned long in device memory:
// the size of what a reference or one element of a pointer names, 0 for an index not in use.
#pragma once

namespace norite_msl {

/// A reference to something larger than this takes a pointer after all.
constexpr unsigned long kMaxValueBytes = 1024;

/// Metal's grid as CUDA launches it. Blocks always have the full size of a group. Where `ragged`,
/// the last groups along a dimension are smaller: the surplus threads of their blocks return at
/// once, which barriers and warps take as gone. Where `folded`, since CUDA has limits that Metal
/// has not (65535 blocks along y and z), block number x + y * gridDim.x is the group's number in
/// the grid, x running fastest, and surplus blocks return.
struct GridShape {
  unsigned groups[3];
  unsigned threads[3];  // of the whole grid
  unsigned ragged;
  unsigned folded;
};

}  // namespace norite_msl
