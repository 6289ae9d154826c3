// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/strands.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#if defined(__SANITIZE_ADDRESS__)
#define NORITE_ADDRESS_SANITIZER
#elif defined(__SANITIZE_THREAD__)
#define NORITE_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NORITE_ADDRESS_SANITIZER
#endif
#if __has_feature(thread_sanitizer)
#define NORITE_THREAD_SANITIZER
#endif
#endif

#ifdef NORITE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef NORITE_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace norite::cpu::msl {

namespace context = boost::context::detail;

namespace {

// Sanitizers follow one stack a thread unless told of each switch.
void before_jump([[maybe_unused]] Strand& from, [[maybe_unused]] Strand& to) {
#ifdef NORITE_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
#ifdef NORITE_THREAD_SANITIZER
  if (from.fiber == nullptr) from.fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.fiber, 0);
#endif
}

// What a jump brings along. It lies on the stack that is left, which stays as it is.
struct Jump {
  Strand* from;
  Strand* to;
};

void arrive(const context::transfer_t& transfer) {
  const Jump jump = *static_cast<const Jump*>(transfer.data);
  jump.from->context = transfer.fctx;
#ifdef NORITE_ADDRESS_SANITIZER
  const void* stack = nullptr;
  size_t bytes = 0;
  __sanitizer_finish_switch_fiber(jump.to->fake_stack, &stack, &bytes);
  if (jump.from->stack == nullptr) {  // an OS thread's own: only the sanitizer knows where that is
    jump.from->stack = static_cast<std::byte*>(const_cast<void*>(stack));
    jump.from->stack_bytes = bytes;
  }
#endif
}

void make_sanitizer_state([[maybe_unused]] Strand& strand) {
  Strands::drop_frames(strand);
#ifdef NORITE_ADDRESS_SANITIZER
  strand.fake_stack = nullptr;
#endif
#ifdef NORITE_THREAD_SANITIZER
  if (strand.fiber != nullptr) __tsan_destroy_fiber(strand.fiber);
  strand.fiber = __tsan_create_fiber(0);
#endif
}

void free_sanitizer_state([[maybe_unused]] Strand& strand) {
#ifdef NORITE_THREAD_SANITIZER
  if (strand.fiber != nullptr) __tsan_destroy_fiber(strand.fiber);
#endif
}

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

// A guard page lies below each stack.
size_t stride() { return Strands::kStackBytes + page_bytes(); }

}  // namespace

bool Strand::guard_holds(const void* address) const noexcept {
  const auto distance = reinterpret_cast<uintptr_t>(stack) - reinterpret_cast<uintptr_t>(address);
  return distance - 1 < page_bytes();
}

Strands::Strands(size_t most, Body body, void* context)
    : most_(most), body_(body), context_(context), strands_(new Strand[most]) {
  free_.reserve(most);
}

Strands::~Strands() {
  for (size_t i = 0; i < made_; ++i) free_sanitizer_state(strands_[i]);
  if (memory_ != nullptr) ::munmap(memory_, most_ * stride());
}

bool Strands::reserve() {
  if (memory_ != nullptr) return true;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
  void* memory = ::mmap(nullptr, most_ * stride(), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<std::byte*>(memory);
  return true;
}

void Strands::prepare(Strand& strand, size_t index) {
  make_sanitizer_state(strand);
  // Frames at the same distance from a page's end would all compete for the same few cache lines.
  const size_t colour = index % 16 * 256;
  strand.context = context::make_fcontext(strand.stack + strand.stack_bytes - colour,
                                          strand.stack_bytes - colour, main);
}

Strand& Strands::take() {
  if (!free_.empty()) {
    Strand& strand = *free_.back();
    free_.pop_back();
    return strand;
  }
  const size_t index = made_++;
  Strand& strand = strands_[index];
  std::byte* guard = memory_ + index * stride();
  // Each guard splits a mapping, and a process may only have so many (65,530 on Linux), of which
  // the application wants some: later stacks do without.
  constexpr int kMostGuards = 16'384;
  static std::atomic<int> guards = 0;
  if (guards.fetch_add(1, std::memory_order_relaxed) < kMostGuards) {
    (void)::mprotect(guard, page_bytes(), PROT_NONE);
  }
  strand.stack = guard + page_bytes();
  strand.stack_bytes = kStackBytes;
  strand.owner = this;
  prepare(strand, index);
  return strand;
}

void Strands::abandon_all() {
  free_.clear();
  for (size_t i = made_; i-- > 0;) {
    prepare(strands_[i], i);
    free_.push_back(&strands_[i]);
  }
}

void Strands::drop_frames([[maybe_unused]] Strand& strand) {
#ifdef NORITE_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(strand.stack, strand.stack_bytes);
#endif
}

void Strands::main(context::transfer_t transfer) {
  Strands* owner = static_cast<const Jump*>(transfer.data)->to->owner;
  arrive(transfer);
  owner->body_(owner->context_);
}

void Strands::jump(Strand& from, Strand& to) {
  Jump jump = {&from, &to};
  before_jump(from, to);
  arrive(context::jump_fcontext(to.context, &jump));
}

}  // namespace norite::cpu::msl
