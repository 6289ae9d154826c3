// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace norite::ops {

/// How the weight of a norm enters. Without a weight the norm has none, whatever this says.
enum class WeightMode : uint8_t {
  plain,     ///< w
  one_plus,  ///< 1 + w, added in f32 (Gemma)
};

/// Where a norm rounds to the storage dtype.
enum class Rounding : uint8_t {
  once,           ///< at the end
  before_weight,  ///< x·r is rounded, then multiplied by the weight and rounded again (Llama)
};

}  // namespace norite::ops
