// SPDX-License-Identifier: MIT
// Stacks that one OS thread switches between.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "msl/shim/abi.h"

namespace norite::cpu::msl {

class Strands;

/// A stack and where its code stands. What the OS thread itself runs on is one too.
struct Strand {
  boost::context::detail::fcontext_t context = nullptr;
  std::byte* stack = nullptr;
  size_t stack_bytes = 0;
  Strands* owner = nullptr;
  norite_msl::ThreadPlace place = {};  // of the kernel's thread that runs here
  void* fake_stack = nullptr;          // AddressSanitizer's
  void* fiber = nullptr;               // ThreadSanitizer's

  [[nodiscard]] bool owns(const void* address) const noexcept {
    return reinterpret_cast<uintptr_t>(address) - reinterpret_cast<uintptr_t>(stack) < stack_bytes;
  }
  /// Whether the address lies in the page below the stack, which nobody may access.
  [[nodiscard]] bool guard_holds(const void* address) const noexcept;
  /// Bytes that are left for what the code with that frame calls.
  [[nodiscard]] size_t room_below(const void* frame) const noexcept {
    return reinterpret_cast<uintptr_t>(frame) - reinterpret_cast<uintptr_t>(stack);
  }
};

/// The strands of one OS thread. Made when first needed and kept from group to group.
class Strands {
 public:
  using Body = void (*)(void* context);
  static constexpr size_t kStackBytes = size_t{128} << 10;

  /// Every strand runs body(context), which never returns.
  Strands(size_t most, Body body, void* context);
  ~Strands();
  Strands(const Strands&) = delete;
  Strands& operator=(const Strands&) = delete;

  /// False when there is no memory for stacks.
  bool reserve();
  /// A strand that is not in use: one whose thread has ended, else a new one.
  Strand& take();
  void give_back(Strand& strand) { free_.push_back(&strand); }
  /// Forgets what every strand was doing; all are unused afterwards.
  void abandon_all();
  /// For code at the top of a strand's stack whose other frames it has replaced.
  static void drop_frames(Strand& strand);

  /// Goes on where `to` stands; returns when someone switches back to `from`.
  static void jump(Strand& from, Strand& to);
  /// The OS thread's own strand, to switch from and back to.
  Strand& home() { return home_; }

 private:
  static void main(boost::context::detail::transfer_t transfer);
  void prepare(Strand& strand, size_t index);

  size_t most_;
  Body body_;
  void* context_;
  std::byte* memory_ = nullptr;
  std::unique_ptr<Strand[]> strands_;
  size_t made_ = 0;
  std::vector<Strand*> free_;
  Strand home_;
};

}  // namespace norite::cpu::msl
