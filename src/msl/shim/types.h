// SPDX-License-Identifier: MIT
// The scalar types, visible without a namespace as they are in Metal.
#pragma once

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;

typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;

#ifdef __CUDACC_RTC__
// Classes, since NVRTC has no such types.
namespace norite_msl {
template <bool Brain>
struct Narrow;
}
typedef norite_msl::Narrow<false> half;
typedef norite_msl::Narrow<true> bfloat;
#else
// Builtin types, so that conversions and overloads rank as they do in Metal.
typedef _Float16 half;
typedef __bf16 bfloat;
#endif

namespace metal {
using ::bfloat;
using ::half;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::ulong;
using ::ushort;
}  // namespace metal
