// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace norite::msl {

/// The bytes of Metal's number and vector types by name, as in "ushort" or "float3"; 0 for others.
[[nodiscard]] uint32_t bytes_of_type(std::string_view name) noexcept;

}  // namespace norite::msl
