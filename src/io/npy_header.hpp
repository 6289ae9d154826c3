// SPDX-License-Identifier: MIT
// The header of a .npy file, a Python dict literal: {'descr': '<f4', 'fortran_order': False,
// 'shape': (3, 4), }
#pragma once

#include <string>
#include <string_view>

#include "norite/dtype.hpp"
#include "norite/error.hpp"
#include "norite/shape.hpp"

namespace norite::io {

struct NpyHeader {
  DType dtype = DType::f32;
  Shape shape;
  int64_t data_bytes = 0;
};

/// Errors: bad_file.
Result<NpyHeader> parse_npy_header(std::string_view text);

/// The literal alone, without padding.
std::string npy_header_text(DType dtype, const Shape& shape);

}  // namespace norite::io
