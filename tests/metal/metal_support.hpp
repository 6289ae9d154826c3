// SPDX-License-Identifier: MIT
// The Metal backend on a stand-in for Metal; on macOS, on Metal itself.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "metal/stand_in/settings.hpp"
#include "support.hpp"

namespace norite::test {

/// Has the backend find the stand-in, where there is one. Machines without a Metal of any kind have
/// nothing to test.
class AnyMetalTest : public ::testing::Test {
 protected:
  AnyMetalTest() {
#ifdef NORITE_STAND_IN_METAL
    setenv("NORITE_METAL_RUNTIME", NORITE_STAND_IN_METAL, 1);
#endif
  }

  void SetUp() override {
    const auto device = Device::open("metal");
    if (!device) GTEST_SKIP() << device.error().message;
  }

  /// A registered kernel's pipeline.
  static Result<Pipeline> kernel(const Device& device, const std::string& name,
                                 const std::string& text, const FunctionConstants& constants = {}) {
    NORITE_TRY(device.registry().register_source(name, text));
    return device.registry().get_pipeline({.name = name, .constants = constants});
  }
};

/// Puts the stand-in back to what it is at first. Afterwards no rule may have been broken, and
/// nothing be left.
class MetalTest : public AnyMetalTest {
 protected:
  void SetUp() override {
#ifdef NORITE_STAND_IN_METAL
    exported<decltype(stand_in_metal_reset)>("stand_in_metal_reset")();
    stand_in_ = exported<decltype(stand_in_metal)>("stand_in_metal")();
    stand_in_->collects = true;
#else
    GTEST_SKIP() << "only the stand-in for Metal can be told to fail";
#endif
  }
  void TearDown() override {
    if (stand_in_ == nullptr) return;
    EXPECT_EQ(stand_in_->breaches, expected_breaches);
    EXPECT_EQ(exported<decltype(stand_in_metal_live_objects)>("stand_in_metal_live_objects")(), 0);
  }

  [[nodiscard]] StandInMetal& stand_in() const { return *stand_in_; }

  /// A function of the stand-in's, of that declaration's type.
  template <class Function>
  static Function* exported(const char* name) {
    static void* const library = ::dlopen(std::getenv("NORITE_METAL_RUNTIME"), RTLD_NOW);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    return reinterpret_cast<Function*>(::dlsym(library, name));
  }

  std::vector<std::string> expected_breaches;

 private:
  StandInMetal* stand_in_ = nullptr;
};

}  // namespace norite::test
