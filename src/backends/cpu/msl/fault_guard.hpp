// SPDX-License-Identifier: MIT
// A kernel that faults ends its dispatch, not the process.
//
// Kernels that are not checked may do what the machine refuses: access memory that is not mapped,
// run over the end of their stack, divide an integer by zero, trap. The first OS thread that runs
// kernels makes the process handle SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGTRAP here. A fault of a
// kernel, or of a function of the C library that it called, is recorded, and the OS thread goes on
// in code that abandons the group. Every other fault gets what it would have got before, a handler
// or the end of the process; so does a signal that someone sent.
//
// What cannot be promised:
//  - An access outside its buffers that hits other mapped memory of the process is no fault. Only
//    checked mode finds those.
//  - Who installs a handler later comes first. If it does not call on those before it, a kernel's
//    fault is the handler's to deal with.
//  - A thread that blocks these signals cannot be helped: the system ends the process.
//  - A handler that was there before and asked for no alternate stack runs on one, where the OS
//    thread has one: those that run kernels do.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <memory>

#include "backends/cpu/msl/fault.hpp"
#include "backends/cpu/msl/strands.hpp"

// What the handler reads must be there without a call: the loader makes room for a library's
// variables at a thread's first access, unless asked to do it at once.
#ifdef __ELF__
#define NORITE_MSL_HANDLER_READS [[gnu::tls_model("initial-exec")]]
#else
#define NORITE_MSL_HANDLER_READS
#endif

namespace norite::cpu::msl {

/// Guards the kernels of the OS thread that makes it; there is one for each.
class FaultGuard {
 public:
  using Landing = void (*)(void* context);

  /// After a fault, landing(context) runs at the top of the strand's stack. It never returns.
  FaultGuard(Landing landing, void* context);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;
  FaultGuard& operator=(const FaultGuard&) = delete;

  /// From here on a kernel's code runs on that strand; until `leave`, faults are its own.
  void enter(const Strand& strand) noexcept { strand_.store(&strand, std::memory_order_relaxed); }
  void leave() noexcept { strand_.store(nullptr, std::memory_order_relaxed); }

  /// The last fault, for the landing and those after it.
  [[nodiscard]] const Fault& fault() const noexcept { return fault_; }

 private:
  static void handle(int signal, siginfo_t* info, void* context);
  static bool install();
  void provide_signal_stack();

  NORITE_MSL_HANDLER_READS static constinit thread_local FaultGuard* of_this_thread_;

  Landing landing_;
  void* context_;
  std::atomic<const Strand*> strand_ = nullptr;  // null while no kernel's code runs
  Fault fault_;
  std::unique_ptr<std::byte[]> signal_stack_;  // null where the OS thread had one already
};

}  // namespace norite::cpu::msl
