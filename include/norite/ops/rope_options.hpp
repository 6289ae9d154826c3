// SPDX-License-Identifier: MIT
#pragma once

#include <norite/view.hpp>

namespace norite::ops {

/// Which two elements of a head the pair i rotates, i < half_rope_dim. The others pass through.
enum class Pairing : uint8_t {
  half_dim,     ///< (i, i + head_dim / 2)
  half_rope,    ///< (i, i + half_rope_dim)
  interleaved,  ///< (2i, 2i + 1)
};

/// Where the angles of a rotation come from: cos and sin where given, else computed,
///   angle(token, i) = position · theta^(−2i / frequency_dim) / freq_factors[i]
/// right to 1e-5 at every position of 32 bits; in kernel text, which has no double, up to 2^24, and
/// to 1e-4 beyond. Numbers are checked whether they are used or not.
struct RopeAngles {
  View positions = {};  ///< [tokens], i32 or u32; absent: first_position, first_position + 1, …
  int64_t first_position = 0;  ///< 0 to 2^31 - tokens; used without positions
  float theta = 10000.0f;      ///< finite, > 0
  View freq_factors = {};      ///< optional [half_rope_dim], f32
  int64_t frequency_dim = 0;   ///< >= 0; 0: head_dim
  View cos = {};               ///< [tokens, half_rope_dim], f32, with sin, instead of the above
  View sin = {};
};

}  // namespace norite::ops
