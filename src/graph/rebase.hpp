// SPDX-License-Identifier: MIT
#pragma once

#include "norite/view.hpp"

namespace norite::graph {

/// The same view `bytes` further on in another buffer, which must reach that far.
View rebase(const View& view, const Buffer& buffer, int64_t bytes);

}  // namespace norite::graph
