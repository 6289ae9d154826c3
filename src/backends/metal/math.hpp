// SPDX-License-Identifier: MIT
#pragma once

#include "backends/metal/objc.hpp"

namespace norite::metal {

/// How kernels compute, all of them: fast math, Metal's default, is off. It may reorder sums, which
/// takes away the promise of the same bits; it may assume that there is no NaN and no infinity,
/// which norms of hostile values have; and it may cancel the error terms that RoPE's angles at late
/// positions are made of. No kernel is proven to be unharmed by it, so none has it. Products and
/// sums are not fused either: the text says so (msl/lower_metal.hpp), as no option can.
void set_precise_math(Id compile_options);

}  // namespace norite::metal
