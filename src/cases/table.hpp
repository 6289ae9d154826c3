// SPDX-License-Identifier: MIT
// The rows of each operation; all_cases() joins them.
#pragma once

#include "cases/case.hpp"

namespace norite::cases {

std::vector<Case> rms_norm_cases();
std::vector<Case> rms_norm_mul_cases();
std::vector<Case> residual_rms_norm_cases();
std::vector<Case> rms_norm_backward_cases();
std::vector<Case> fused_head_norm_rope_cases();
std::vector<Case> fused_head_norm_rope_backward_cases();
std::vector<Case> rope_cases();
std::vector<Case> rope_backward_cases();
std::vector<Case> flash_attn_train_bwd_compute_d_cases();
std::vector<Case> elementwise_cases();  ///< of every elementwise operation

}  // namespace norite::cases
