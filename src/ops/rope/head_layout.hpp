// SPDX-License-Identifier: MIT
// How lanes share a head (kernels/rope/pairs.h) and the teams of a group the heads of a token
// (kernels/rope/team_heads.h).
#pragma once

#include <cstdint>

#include "core/kernel_key.hpp"

namespace norite::ops {

struct HeadShapes {
  int64_t heads, head_dim, rotating;  // the last in pairs
  int64_t width;                      // elements of a pack
};

struct HeadLayout {
  int64_t width, lanes, slots;
  int64_t teams, teams_per_token, heads_per_team;
  bool whole, all_rotate;

  [[nodiscard]] int64_t threads() const { return teams * lanes; }
  [[nodiscard]] int64_t tokens_at_once() const { return teams / teams_per_token; }
  /// That take turns in a lane, or go to as many groups.
  [[nodiscard]] int64_t rounds(int64_t heads) const;
  void add_to(core::Macros& macros) const;
};

/// For groups of `threads`.
HeadLayout lay_out_heads(const HeadShapes& shapes, int64_t threads);

}  // namespace norite::ops
