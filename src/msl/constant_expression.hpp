// SPDX-License-Identifier: MIT
// Integer constant expressions, as attribute arguments use them: [[buffer(kFirst + 1)]].
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "msl/scan.hpp"

namespace norite::msl {

/// Enumerators and integer constants of the file, by name.
using Constants = std::map<std::string, int64_t, std::less<>>;

/// Nothing where the tokens are no integer expression over literals and known names.
[[nodiscard]] std::optional<int64_t> evaluate(const Module& module, Range range,
                                              const Constants& constants);

/// An integer literal's value, any base, any suffix.
[[nodiscard]] std::optional<int64_t> integer_literal(std::string_view spelling);

}  // namespace norite::msl
