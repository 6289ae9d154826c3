// SPDX-License-Identifier: MIT
// Checked mode. clang's thread sanitizer instruments every access; these are the functions it
// calls, which tell the executor instead of the sanitizer's own runtime. What was replaced by a
// call, atomics and block copies, is then done here.
#pragma once
#ifdef NORITE_MSL_CHECKED
#include "shim/config.h"
#include "shim/runtime.h"
#include "shim/types.h"

#define NORITE_MSL_HOOK extern "C" __attribute__((visibility("hidden"), used)) NORITE_MSL_UNCHECKED
// Initialisers of file-scope constants run before anyone is attached, and race with nobody.
#define NORITE_MSL_REPORT(address, bytes, kind)                                                \
  (norite_msl::runtime.access == nullptr                                                       \
       ? void()                                                                                \
       : norite_msl::runtime.access(                                                           \
             const_cast<const void*>(static_cast<const volatile void*>(address)), bytes, kind, \
             __builtin_return_address(0)))

NORITE_MSL_HOOK void __tsan_init() {}
NORITE_MSL_HOOK void __tsan_func_entry(void*) {}
NORITE_MSL_HOOK void __tsan_func_exit() {}
NORITE_MSL_HOOK void __tsan_ignore_thread_begin() {}
NORITE_MSL_HOOK void __tsan_ignore_thread_end() {}

#define NORITE_MSL_ACCESS(name, bytes, kind) \
  NORITE_MSL_HOOK void __tsan_##name(void* p) { NORITE_MSL_REPORT(p, bytes, norite_msl::kind); }
#define NORITE_MSL_ACCESSES(bytes)                                   \
  NORITE_MSL_ACCESS(read##bytes, bytes, kRead)                       \
  NORITE_MSL_ACCESS(write##bytes, bytes, kWrite)                     \
  NORITE_MSL_ACCESS(unaligned_read##bytes, bytes, kRead)             \
  NORITE_MSL_ACCESS(unaligned_write##bytes, bytes, kWrite)           \
  NORITE_MSL_ACCESS(volatile_read##bytes, bytes, kRead)              \
  NORITE_MSL_ACCESS(volatile_write##bytes, bytes, kWrite)            \
  NORITE_MSL_ACCESS(unaligned_volatile_read##bytes, bytes, kRead)    \
  NORITE_MSL_ACCESS(unaligned_volatile_write##bytes, bytes, kWrite)  \
  NORITE_MSL_HOOK void __tsan_read_write##bytes(void* p) {           \
    NORITE_MSL_REPORT(p, bytes, norite_msl::kRead);                  \
    NORITE_MSL_REPORT(p, bytes, norite_msl::kWrite);                 \
  }                                                                  \
  NORITE_MSL_HOOK void __tsan_unaligned_read_write##bytes(void* p) { \
    NORITE_MSL_REPORT(p, bytes, norite_msl::kRead);                  \
    NORITE_MSL_REPORT(p, bytes, norite_msl::kWrite);                 \
  }
NORITE_MSL_ACCESSES(1)
NORITE_MSL_ACCESSES(2)
NORITE_MSL_ACCESSES(4)
NORITE_MSL_ACCESSES(8)
NORITE_MSL_ACCESSES(16)
NORITE_MSL_ACCESS(vptr_read, sizeof(void*), kRead)
#undef NORITE_MSL_ACCESS
#undef NORITE_MSL_ACCESSES

NORITE_MSL_HOOK void __tsan_vptr_update(void** p, void*) {
  NORITE_MSL_REPORT(p, sizeof(void*), norite_msl::kWrite);
}
NORITE_MSL_HOOK void __tsan_read_range(void* p, unsigned long bytes) {
  NORITE_MSL_REPORT(p, bytes, norite_msl::kRead);
}
NORITE_MSL_HOOK void __tsan_write_range(void* p, unsigned long bytes) {
  NORITE_MSL_REPORT(p, bytes, norite_msl::kWrite);
}

NORITE_MSL_HOOK void* __tsan_memcpy(void* to, const void* from, unsigned long bytes) {
  NORITE_MSL_REPORT(from, bytes, norite_msl::kRead);
  NORITE_MSL_REPORT(to, bytes, norite_msl::kWrite);
  return __builtin_memcpy(to, from, bytes);
}
NORITE_MSL_HOOK void* __tsan_memmove(void* to, const void* from, unsigned long bytes) {
  NORITE_MSL_REPORT(from, bytes, norite_msl::kRead);
  NORITE_MSL_REPORT(to, bytes, norite_msl::kWrite);
  return __builtin_memmove(to, from, bytes);
}
NORITE_MSL_HOOK void* __tsan_memset(void* to, int value, unsigned long bytes) {
  NORITE_MSL_REPORT(to, bytes, norite_msl::kWrite);
  return __builtin_memset(to, value, bytes);
}

#define NORITE_MSL_UPDATE(bits, T, name, operation)                             \
  NORITE_MSL_HOOK T __tsan_atomic##bits##_##name(volatile T* p, T value, int) { \
    NORITE_MSL_REPORT(p, sizeof(T), norite_msl::kAtomic | norite_msl::kWrite);  \
    return operation(p, value, __ATOMIC_SEQ_CST);                               \
  }
#define NORITE_MSL_EXCHANGE(bits, T, name, weak)                                                \
  NORITE_MSL_HOOK int __tsan_atomic##bits##_compare_exchange_##name(volatile T* p, T* expected, \
                                                                    T desired, int, int) {      \
    NORITE_MSL_REPORT(p, sizeof(T), norite_msl::kAtomic | norite_msl::kWrite);                  \
    return __atomic_compare_exchange_n(p, expected, desired, weak, __ATOMIC_SEQ_CST,            \
                                       __ATOMIC_SEQ_CST);                                       \
  }
#define NORITE_MSL_ATOMICS(bits, T)                                                                \
  NORITE_MSL_HOOK T __tsan_atomic##bits##_load(const volatile T* p, int) {                         \
    NORITE_MSL_REPORT(p, sizeof(T), norite_msl::kAtomic | norite_msl::kRead);                      \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                   \
  }                                                                                                \
  NORITE_MSL_HOOK void __tsan_atomic##bits##_store(volatile T* p, T value, int) {                  \
    NORITE_MSL_REPORT(p, sizeof(T), norite_msl::kAtomic | norite_msl::kWrite);                     \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                  \
  }                                                                                                \
  NORITE_MSL_UPDATE(bits, T, exchange, __atomic_exchange_n)                                        \
  NORITE_MSL_UPDATE(bits, T, fetch_add, __atomic_fetch_add)                                        \
  NORITE_MSL_UPDATE(bits, T, fetch_sub, __atomic_fetch_sub)                                        \
  NORITE_MSL_UPDATE(bits, T, fetch_and, __atomic_fetch_and)                                        \
  NORITE_MSL_UPDATE(bits, T, fetch_or, __atomic_fetch_or)                                          \
  NORITE_MSL_UPDATE(bits, T, fetch_xor, __atomic_fetch_xor)                                        \
  NORITE_MSL_UPDATE(bits, T, fetch_nand, __atomic_fetch_nand)                                      \
  NORITE_MSL_EXCHANGE(bits, T, strong, false)                                                      \
  NORITE_MSL_EXCHANGE(bits, T, weak, true)                                                         \
  NORITE_MSL_HOOK T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected,          \
                                                               T desired, int, int) {              \
    NORITE_MSL_REPORT(p, sizeof(T), norite_msl::kAtomic | norite_msl::kWrite);                     \
    __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected;                                                                               \
  }
NORITE_MSL_ATOMICS(8, uchar)
NORITE_MSL_ATOMICS(16, ushort)
NORITE_MSL_ATOMICS(32, uint)
NORITE_MSL_ATOMICS(64, ulong)
#undef NORITE_MSL_UPDATE
#undef NORITE_MSL_EXCHANGE
#undef NORITE_MSL_ATOMICS

NORITE_MSL_HOOK void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
NORITE_MSL_HOOK void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#undef NORITE_MSL_HOOK
#undef NORITE_MSL_REPORT
#endif
