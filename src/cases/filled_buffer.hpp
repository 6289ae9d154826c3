// SPDX-License-Identifier: MIT
#pragma once

#include <norite/norite.hpp>

namespace norite::cases {

/// A buffer of values between -1 and 1 that repeat every so often, none of them zero.
Result<Buffer> filled(const Device& device, DType dtype, const Shape& shape);

}  // namespace norite::cases
