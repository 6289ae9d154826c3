// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>

namespace norite::cli {

/// Keys stay in the order they are written.
using Json = nlohmann::ordered_json;

/// Raised when a key changes its meaning or disappears; new keys do not raise it.
constexpr int kSchemaVersion = 1;

/// Prints a document to stdout.
void print_json(const Json& document);
/// A finite number, or null: JSON has no infinities.
Json number_or_null(double value);

}  // namespace norite::cli
