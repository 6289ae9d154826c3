// SPDX-License-Identifier: MIT
// The registers of code that a signal interrupted.
#pragma once

#ifdef __APPLE__
#include <sys/ucontext.h>
#else
#include <ucontext.h>
#endif

#include <cstddef>
#include <cstdint>

namespace norite::cpu::msl {

#if (defined(__linux__) || defined(__APPLE__)) && (defined(__x86_64__) || defined(__aarch64__))
constexpr bool kCanRedirect = true;
#else
constexpr bool kCanRedirect = false;
#endif

/// The instruction that was interrupted.
inline uintptr_t program_counter(const ucontext_t& context) noexcept {
#if defined(__linux__) && defined(__x86_64__)
  return static_cast<uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
#elif defined(__linux__) && defined(__aarch64__)
  return context.uc_mcontext.pc;
#elif defined(__APPLE__) && defined(__x86_64__)
  return context.uc_mcontext->__ss.__rip;
#elif defined(__APPLE__) && defined(__aarch64__)
  return __darwin_arm_thread_state64_get_pc(context.uc_mcontext->__ss);
#else
  (void)context;
  return 0;
#endif
}

/// Lets the interrupted code go on in function(argument), which never returns, on an empty stack
/// that ends at `stack_end`, a multiple of 16. Without a frame pointer nothing looks for callers.
inline void redirect(ucontext_t& context, const void* stack_end, void (*function)(void*),
                     void* argument) noexcept {
  const auto stack = reinterpret_cast<uintptr_t>(stack_end);
  const auto target = reinterpret_cast<uintptr_t>(function);
  const auto value = reinterpret_cast<uintptr_t>(argument);
#if defined(__linux__) && defined(__x86_64__)
  constexpr greg_t kDirection = 0x400;  // functions expect it clear
  auto& registers = context.uc_mcontext.gregs;
  registers[REG_RIP] = static_cast<greg_t>(target);
  registers[REG_RSP] = static_cast<greg_t>(stack - 8);  // as if called: an address to return to
  registers[REG_RBP] = 0;
  registers[REG_RDI] = static_cast<greg_t>(value);
  registers[REG_EFL] &= ~kDirection;
#elif defined(__linux__) && defined(__aarch64__)
  auto& registers = context.uc_mcontext;
  registers.pc = target;
  registers.sp = stack;
  registers.regs[29] = 0;
  registers.regs[30] = 0;
  registers.regs[0] = value;
#elif defined(__APPLE__) && defined(__x86_64__)
  constexpr uint64_t kDirection = 0x400;
  auto& registers = context.uc_mcontext->__ss;
  registers.__rip = target;
  registers.__rsp = stack - 8;
  registers.__rbp = 0;
  registers.__rdi = value;
  registers.__rflags &= ~kDirection;
#elif defined(__APPLE__) && defined(__aarch64__)
  auto& registers = context.uc_mcontext->__ss;
  __darwin_arm_thread_state64_set_pc_fptr(registers, function);
  __darwin_arm_thread_state64_set_sp(registers, stack);
  __darwin_arm_thread_state64_set_fp(registers, 0);
  __darwin_arm_thread_state64_set_lr_fptr(registers, nullptr);
  registers.__x[0] = value;
  (void)target;
#else
  (void)context, (void)stack, (void)target, (void)value;
#endif
}

}  // namespace norite::cpu::msl
