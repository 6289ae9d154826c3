// SPDX-License-Identifier: MIT
#pragma once

#include "backends/metal/objc.hpp"

namespace norite::metal {

/// How kernels compute, all of them: fast math, Metal's default, is off. It may reorder sums, which
/// takes away the promise of the same bits; it may assume that there is no NaN and no infinity,
/// which norms of hostile values have; and its sine and cosine are wrong for the large angles of
/// RoPE at late positions. No kernel is proven to be unharmed by it, so none has it. Products and
/// sums are not fused either: the text says so (msl/lower_metal.hpp), as no option can.
void set_precise_math(Id compile_options);

}  // namespace norite::metal
