// SPDX-License-Identifier: MIT
// What a test can tell the stand-in for Metal, and what the stand-in tells back.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace norite::test {

struct StandInMetal {
  // The machine.
  int devices = 1;
  int system_major = 15;  // of macOS
  int apple_family = 9;   // 0 for a GPU that is not Apple's
  int64_t memory_bytes = int64_t{64} << 30;
  unsigned long execution_width = 32;
  unsigned long max_threads = 1024;
  unsigned long static_threadgroup_bytes = 0;  // that every kernel claims to have

  // Failures.
  std::string compile_error;     // what the compiler says to everything
  std::string failing_dispatch;  // the label of a dispatch that ends its command buffer
  long error_code = 3;           // with this error
  bool blames = true;            // and whether the error names the dispatch
  /// Called before a command buffer runs, on the thread that runs it.
  std::function<void()> before_run;

  // What was seen.
  bool collects = false;  // breaches of the rules are listed instead of ending the process
  std::vector<std::string> breaches;
  long live_objects = 0;                // of this moment
  std::vector<std::string> dispatched;  // labels, in the order of running
  long command_buffers = 0;
  long barriers = 0;
  bool fast_math = false;  // whether any text was to be compiled with it
  std::vector<std::string> texts;
  int64_t resident_buffers = 0;
};

}  // namespace norite::test

extern "C" norite::test::StandInMetal* stand_in_metal();
extern "C" void stand_in_metal_reset();
/// Objects that no one lets go of, even after a while.
extern "C" long stand_in_metal_live_objects();
