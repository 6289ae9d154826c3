// SPDX-License-Identifier: MIT
// What is said about a Metal that is missing or none.
#include "backends/metal/objc.hpp"
#include "metal/metal_support.hpp"

namespace norite {
namespace {

using test::expect_error;

TEST(Loading, a_library_that_is_not_there) {
  setenv("NORITE_METAL_RUNTIME", "/nowhere/metal.so", 1);
  expect_error(metal::load_runtime(), Code::unavailable, {"Metal", "/nowhere/metal.so"});
}

TEST(Loading, a_library_without_the_functions) {
  setenv("NORITE_METAL_RUNTIME", test::kOtherLibrary, 1);
  expect_error(metal::load_runtime(), Code::unavailable, {test::kOtherLibrary, "objc_msgSend"});
}

#ifndef __APPLE__
TEST(Loading, a_system_that_has_none) {
  unsetenv("NORITE_METAL_RUNTIME");
  expect_error(metal::load_runtime(), Code::unavailable, {"no Metal", "macOS"});
  expect_error(Device::open("metal"), Code::unavailable, {"no Metal", "macOS"});
  for (const DeviceInfo& info : Device::list()) EXPECT_NE(info.backend, "metal");
}
#endif

}  // namespace
}  // namespace norite
