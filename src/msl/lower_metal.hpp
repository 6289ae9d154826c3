// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "msl/module.hpp"

namespace norite::msl {

/// The text for Metal's own compiler, which sees no header of the user's and none of ours: includes
/// and macros are expanded, Metal's headers are included, and every token stands at its place in
/// the user's files, so that errors name it. Contraction of products and sums is off, as it is for
/// every other compiler of kernels.
[[nodiscard]] std::string lower_for_metal(const Module& module);

}  // namespace norite::msl
