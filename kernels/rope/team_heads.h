// SPDX-License-Identifier: MIT
// Which heads a team of lanes takes. Groups are LANES_PER_HEAD by TEAMS threads: where lanes are
// found by division, NVRTC loses sight of how packs are aligned, and stores some in pieces.
// TEAMS_PER_TOKEN teams share a token, and the next ones the token after it; a team holds
// HEADS_PER_TEAM heads at once. Those of all teams alternate, so that what a SIMD-group requests
// together lies together.
#pragma once

#include "rope/params.h"

#define TOKENS_AT_ONCE (TEAMS / TEAMS_PER_TOKEN)
#define HEADS_AT_ONCE (TEAMS_PER_TOKEN * HEADS_PER_TEAM)  // of a token

/// The heads that a team holds, in tokens before `end`.
struct TeamHeads {
  long token, end;
  uint first, heads;

  uint head(uint k) const { return first + k * TEAMS_PER_TOKEN; }
  bool has(uint k) const { return token < end && head(k) < heads; }
  /// Elements from the beginning of an operand to head k.
  long offset(uint k, constant HeadStrides& strides) const {
    return token * strides.token + head(k) * strides.head;
  }
};

/// From the group's first token and head.
METAL_FUNC TeamHeads team_heads(uint team, long first_token, long end, uint first_head,
                                uint heads) {
  TeamHeads result = {first_token + team / TEAMS_PER_TOKEN, end,
                      first_head + team % TEAMS_PER_TOKEN, heads};
  return result;
}
