// SPDX-License-Identifier: MIT
#pragma once

#include "cases/case.hpp"

namespace norite::cases {

/// flash_attn_train_bwd_compute_d.
struct ComputeDSpec {
  DType dtype = DType::f32;
  Shape shape;              ///< [batch, heads, queries, head_dim]
  bool transposed = false;  ///< o and d_o lie in memory as [batch, queries, heads, head_dim]
  bool mixed = false;       ///< o is transposed, d_o is not
  bool strided = false;
};

Result<std::unique_ptr<Problem>> make_compute_d(const ComputeDSpec& spec, const Device& device,
                                                Data data);

}  // namespace norite::cases
