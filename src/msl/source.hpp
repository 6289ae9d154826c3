// SPDX-License-Identifier: MIT
#pragma once

#include "core/pipeline.hpp"
#include "msl/module.hpp"
#include "msl/preprocess.hpp"
#include "msl/rewrite.hpp"

namespace norite::msl {

/// Text whose headers come from its include directories, and from nowhere else on the disk.
[[nodiscard]] Source source_of(const KernelText& text);
/// A registered kernel's text; a built-in one finds its headers among the library's own.
[[nodiscard]] Source source_of(const core::KernelSource& source);

/// The values that a caller gives to function constants, by name. Errors: invalid_argument for one
/// that the text does not have, or a value that is no number and no truth value.
[[nodiscard]] Result<ConstantValues> constant_values(const Module& module,
                                                     const FunctionConstants& given);
/// Every function constant at zero, so that all text is there to be looked at.
[[nodiscard]] ConstantValues zero_constants(const Module& module);

}  // namespace norite::msl
