// SPDX-License-Identifier: MIT
#pragma once

#include "cases/case.hpp"

#include <norite/safetensors.hpp>

namespace norite::cases {

/// The cases of a file of reference results. Its metadata key `cases` is a JSON object from a
/// case's name to its parameters, `op` among them; tensors are named CASE/FIELD. Each check of such
/// a case is a row here and reports its outputs as CASE/FIELD:
///   rms_norm           y, rms_inv; y_mul (by rms_norm_mul); dx, dw (by rms_norm_backward)
///   residual_rms_norm  sum, y, rms_inv
///   head_norm_rope     y; dx, dw; with computed angles, and again with the file's cos and sin
///   rope               y; dx (by rope_backward); likewise
///   attention          D (by flash_attn_train_bwd_compute_d)
/// A case of any other operation, or without any of these results, is a row that is skipped.
/// Errors: bad_file.
Result<std::vector<Case>> reference_cases(const SafetensorsFile& file);

}  // namespace norite::cases
