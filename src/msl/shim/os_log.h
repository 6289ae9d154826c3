// SPDX-License-Identifier: MIT
// metal_logging: accepted and silent.
#pragma once
#include "shim/config.h"

namespace metal {

enum os_log_type {
  os_log_type_default,
  os_log_type_info,
  os_log_type_debug,
  os_log_type_error,
  os_log_type_fault,
};

struct os_log {
  constexpr os_log() {}
  constexpr os_log(const char*, const char*) {}
  template <class... X>
  NORITE_MSL_INLINE constexpr void log(const char*, X...) const {}
  template <class... X>
  NORITE_MSL_INLINE constexpr void log_debug(const char*, X...) const {}
  template <class... X>
  NORITE_MSL_INLINE constexpr void log_info(const char*, X...) const {}
  template <class... X>
  NORITE_MSL_INLINE constexpr void log_error(const char*, X...) const {}
  template <class... X>
  NORITE_MSL_INLINE constexpr void log_fault(const char*, X...) const {}
  template <class... X>
  NORITE_MSL_INLINE constexpr void log_with_type(os_log_type, const char*, X...) const {}
};
inline constexpr os_log os_log_default;

}  // namespace metal
