// SPDX-License-Identifier: MIT
#include "cli/version_flag.hpp"

#include <norite/device.hpp>
#include <norite/version.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace norite::cli {
namespace {

std::string version_text() {
#if defined(__clang__)
  const std::string_view compiler = "clang " __clang_version__;
#else
  const std::string_view compiler = "gcc " __VERSION__;
#endif
  return fmt::format("norite {}\ncompiler: {}\nbackends: {}\nSIMD levels: {}", version(), compiler,
                     fmt::join(Device::backends(), ", "), fmt::join(Device::cpu_targets(), ", "));
}

}  // namespace

void add_version_flag(CLI::App& verb) {
  verb.set_version_flag("--version", version_text, "Print version, compiler and SIMD levels");
}

}  // namespace norite::cli
