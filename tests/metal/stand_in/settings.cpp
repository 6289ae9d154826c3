// SPDX-License-Identifier: MIT
#include "metal/stand_in/settings.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "metal/stand_in/exported.hpp"
#include "metal/stand_in/foundation.hpp"

using norite::test::StandInMetal;

namespace {

/// NORITE_STAND_IN_METAL: one failure, for programs that cannot be told otherwise.
StandInMetal from_environment() {
  StandInMetal settings;
  const char* const value = std::getenv("NORITE_STAND_IN_METAL");
  const std::string failure = value == nullptr ? "" : value;
  if (failure == "no_device") settings.devices = 0;
  if (failure == "old_system") settings.system_major = 13;
  if (failure == "other_gpu") settings.apple_family = 0;
  if (failure == "no_memory") settings.memory_bytes = 64 << 10;
  if (failure == "compile_error") settings.compile_error = "a.metal:3:7: error: told to fail";
  if (failure.starts_with("fault:")) settings.failing_dispatch = failure.substr(6);
  return settings;
}

/// At the end of a process everything must have been released.
struct AtExit {
  AtExit() { (void)(stand_in_metal(), norite::stand_in::books()); }
  ~AtExit() {
    if (stand_in_metal()->collects || stand_in_metal_live_objects() == 0) return;
    norite::stand_in::breach("objects are never released:" + norite::stand_in::survivors());
  }
};

const AtExit at_exit;

}  // namespace

__attribute__((visibility("default"))) StandInMetal* stand_in_metal() {
  static auto& settings = *new StandInMetal(from_environment());
  return &settings;
}

__attribute__((visibility("default"))) void stand_in_metal_reset() {
  const std::scoped_lock lock(norite::stand_in::books());
  const long live = stand_in_metal()->live_objects;
  *stand_in_metal() = from_environment();
  stand_in_metal()->live_objects = live;
}

// The thread of a queue may take a moment to drop the last command buffer.
__attribute__((visibility("default"))) long stand_in_metal_live_objects() {
  using namespace std::chrono_literals;
  const auto count = [] {
    const std::scoped_lock lock(norite::stand_in::books());
    return stand_in_metal()->live_objects;
  };
  for (int i = 0; i < 2000 && count() > 0; ++i) std::this_thread::sleep_for(1ms);
  return count();
}

/// A variable of Metal's: the key of an error's details. It lives as long as the process.
extern "C"
    __attribute__((visibility("default"))) norite::metal::Id MTLCommandBufferEncoderInfoErrorKey;
norite::metal::Id MTLCommandBufferEncoderInfoErrorKey = [] {
  auto* const key = new norite::stand_in::String("MTLCommandBufferEncoderInfoErrorKey");
  --stand_in_metal()->live_objects;
  return norite::stand_in::id_of(key);
}();
