// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/fault_guard.hpp"

#include <array>

#include "backends/cpu/msl/machine_context.hpp"

namespace norite::cpu::msl {

namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

// What each signal did before. Written before the handler is there, never after.
std::array<struct sigaction, kSignals.size()> earlier_actions;

const struct sigaction& earlier_action(int signal) {
  size_t i = 0;
  while (kSignals[i] != signal) ++i;
  return earlier_actions[i];
}

// By kill() and the like, not by the code that it interrupts.
bool was_sent(const siginfo_t& info) { return info.si_code <= 0 || info.si_code == SI_USER; }

void set_default(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
}

// The process ends as soon as the handler returns: the instruction faults again, so that a core
// dump shows it. What does not come again by itself is raised; it waits until then.
void end_process(int signal, bool sent) {
  set_default(signal);
  if (sent || signal == SIGTRAP) ::raise(signal);
}

// Does what the system would have done without this handler.
void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& action = earlier_action(signal);
  const bool with_info = (action.sa_flags & SA_SIGINFO) != 0;
  if (!with_info && action.sa_handler == SIG_DFL) {
    end_process(signal, was_sent(*info));
  } else if (!with_info && action.sa_handler == SIG_IGN) {
    if (!was_sent(*info)) end_process(signal, false);  // a fault cannot be ignored
  } else {
    // The mask of the interrupted code comes back when the handler returns.
    ::pthread_sigmask(SIG_BLOCK, &action.sa_mask, nullptr);
    if ((action.sa_flags & SA_NODEFER) != 0) {
      sigset_t self;
      sigemptyset(&self);
      sigaddset(&self, signal);
      ::pthread_sigmask(SIG_UNBLOCK, &self, nullptr);
    }
    if ((action.sa_flags & SA_RESETHAND) != 0) set_default(signal);
    if (with_info) {
      action.sa_sigaction(signal, info, context);
    } else {
      action.sa_handler(signal);
    }
  }
}

Fault::Kind kind_of(int signal, const siginfo_t& info, const Strand& strand) {
  if (signal == SIGFPE && info.si_code == FPE_INTDIV) return Fault::Kind::division;
  if (signal != SIGSEGV && signal != SIGBUS) return Fault::Kind::trap;
#ifdef SI_KERNEL
  if (info.si_code == SI_KERNEL) return Fault::Kind::wild_memory;  // the address is not told
#endif
  return strand.guard_holds(info.si_addr) ? Fault::Kind::stack : Fault::Kind::memory;
}

}  // namespace

constinit thread_local FaultGuard* FaultGuard::of_this_thread_ = nullptr;

// Runs at any instruction of the process: reads and writes memory that is there for certain, and
// calls only what signal handlers may call.
void FaultGuard::handle(int signal, siginfo_t* info, void* context) {
  FaultGuard* const guard = of_this_thread_;
  const Strand* const strand =
      guard == nullptr ? nullptr : guard->strand_.load(std::memory_order_relaxed);
  if (strand == nullptr || was_sent(*info)) {
    pass_on(signal, info, context);
    return;
  }
  auto& interrupted = *static_cast<ucontext_t*>(context);
  guard->leave();
  guard->fault_ = {.kind = kind_of(signal, *info, *strand),
                   .signal = signal,
                   .address = reinterpret_cast<uintptr_t>(info->si_addr),
                   .instruction = program_counter(interrupted)};
  redirect(interrupted, strand->stack + strand->stack_bytes, guard->landing_, guard->context_);
}

bool FaultGuard::install() {
  if (!kCanRedirect) return false;
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  // Two steps: other threads may fault as soon as the handler is there.
  for (size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &earlier_actions[i]);
    ::sigaction(kSignals[i], &action, nullptr);
  }
  return true;
}

FaultGuard::FaultGuard(Landing landing, void* context) : landing_(landing), context_(context) {
  static const bool installed = install();
  if (!installed) return;
  provide_signal_stack();
  of_this_thread_ = this;
}

// A strand that has run out of stack has no room for the handler.
void FaultGuard::provide_signal_stack() {
  stack_t present = {};
  if (::sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
  constexpr size_t kBytes = size_t{64} << 10;  // for the handlers of others, too
  signal_stack_ = std::make_unique_for_overwrite<std::byte[]>(kBytes);
  stack_t stack = {};
  stack.ss_sp = signal_stack_.get();
  stack.ss_size = kBytes;
  ::sigaltstack(&stack, nullptr);
}

FaultGuard::~FaultGuard() {
  of_this_thread_ = nullptr;
  stack_t present = {};
  if (signal_stack_ == nullptr || ::sigaltstack(nullptr, &present) != 0) return;
  if (present.ss_sp != signal_stack_.get()) return;  // someone has set another since
  stack_t none = {};
  none.ss_flags = SS_DISABLE;
  none.ss_size = present.ss_size;  // macOS wants a size to take none
  ::sigaltstack(&none, nullptr);
}

}  // namespace norite::cpu::msl
