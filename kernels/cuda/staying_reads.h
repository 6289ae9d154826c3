// SPDX-License-Identifier: MIT
// CUDA only: reads of tensors that are larger than the L2 (READS_STAY: 128 MiB together, more than
// twice what an H200 has), whose lines it gives up after all others. Nothing is read again; why it
// pays is not known. A guess: room is made by lines that were written, soon and in order, which
// have to leave anyway.
//
// On an H200, copies in which a thread has several packs under way go from 0.95-0.97 of the
// bandwidth of a copy with one each to 1.00-1.01, that one itself to 1.02, also where many run one
// after the other; kernels gain 2 % in the median (bench/README.md). Lines that are given up first
// cost 2 to 5 %.
//
// GPUs of compute capability 10.0 and later read as ever. Nobody has measured them, and over the
// access property NVRTC 12.9 and 13.0 end the whole process when they compile for them.
#pragma once

#include <metal_stdlib>

using namespace metal;

/// L2::evict_last for all accesses, as createpolicy.fractional encodes it.
constant constexpr ulong kStays = 0x14f0000000000000;
constant constexpr bool kReadsStay = __CUDA_ARCH__ < 1000;

/// What is read through the pointer that it returns goes by the policy.
template <typename T>
METAL_FUNC device const T* staying(device const T* from) {
  if constexpr (kReadsStay) {
    return static_cast<device const T*>(__nv_associate_access_property(from, kStays));
  } else {
    return from;
  }
}
