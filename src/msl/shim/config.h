// SPDX-License-Identifier: MIT
// How functions of the library are declared, and the macros kernels may use for their own.
#pragma once

#ifdef __CUDACC_RTC__

#undef assert

#define NORITE_MSL_INLINE __forceinline__
#define NORITE_MSL_COLLECTIVE __forceinline__
#define METAL_FUNC __forceinline__

// A function of components, to be applied to each of a vector's.
#define NORITE_MSL_EACH(...) [](__VA_ARGS__)

#else

// The library leaves no trace in line tables: what is inlined from it carries the caller's line.
#define NORITE_MSL_INLINE inline __attribute__((always_inline, nodebug))

// A function of components, to be applied to each of a vector's.
#define NORITE_MSL_EACH(...) [](__VA_ARGS__) __attribute__((always_inline, nodebug))

// An inlined function inside which lanes meet: a call must not be copied before it is inlined.
#define NORITE_MSL_COLLECTIVE inline __attribute__((always_inline, nodebug, convergent))

// A place where lanes meet is known by its return address. It must exist exactly once for each
// call in the source: never inlined, copied by an unrolled loop, merged with its twin in another
// branch, or entered by a jump. Optimised, it would lose `convergent`, since what it calls is not;
// and clang forgets `noinline` beside `noduplicate` unless `optnone` implies it.
#define NORITE_MSL_MEETING                                                           \
  static __attribute__((noinline, optnone, unused, convergent, noduplicate, nomerge, \
                        not_tail_called))

// Memory that belongs to the executor, not to the kernel: checked mode must not look at it.
#define NORITE_MSL_UNCHECKED __attribute__((disable_sanitizer_instrumentation))

#define METAL_FUNC inline __attribute__((always_inline, convergent))

#endif

// Every function is computed precisely; the selector only has to be a constant.
#define __METAL_MAYBE_FAST_MATH__ 0
#define __METAL_FAST_MATH__ 1
#define __METAL_PRECISE_MATH__ 0

#define assert(condition) ((void)0)
