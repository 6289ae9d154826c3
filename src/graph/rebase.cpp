// SPDX-License-Identifier: MIT
#include "graph/rebase.hpp"

namespace norite::graph {

View rebase(const View& view, const Buffer& buffer, int64_t bytes) {
  return View::make(buffer, view.dtype(), view.shape(), view.strides(), view.byte_offset() + bytes)
      .value_or(view);
}

}  // namespace norite::graph
