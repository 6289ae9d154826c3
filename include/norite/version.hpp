// SPDX-License-Identifier: MIT
// The one place that states the version: CMake reads it from here.
#pragma once

#include <norite/export.hpp>

#define NORITE_VERSION_MAJOR 0
#define NORITE_VERSION_MINOR 1
#define NORITE_VERSION_PATCH 0
#define NORITE_VERSION \
  (NORITE_VERSION_MAJOR * 1000000 + NORITE_VERSION_MINOR * 1000 + NORITE_VERSION_PATCH)

namespace norite {

/// The version of the library that is running, as "major.minor.patch". It may differ from the
/// NORITE_VERSION that a program was compiled against.
NORITE_API const char* version() noexcept;

}  // namespace norite
