// SPDX-License-Identifier: MIT
#include "norite/version.hpp"

#define NORITE_TEXT_INNER(x) #x
#define NORITE_TEXT(x) NORITE_TEXT_INNER(x)

namespace norite {

const char* version() noexcept {
  return NORITE_TEXT(NORITE_VERSION_MAJOR) "." NORITE_TEXT(NORITE_VERSION_MINOR) "." NORITE_TEXT(
      NORITE_VERSION_PATCH);
}

}  // namespace norite
