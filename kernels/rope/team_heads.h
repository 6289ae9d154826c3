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

/// Heads that a group takes at the same time: HEADS_AT_ONCE of each of TOKENS_AT_ONCE tokens.
struct HeadStep {
  long token;
  uint first_head;

  void advance(uint heads) {
    first_head += HEADS_AT_ONCE;
    if (first_head < heads) return;
    first_head = 0;
    token += TOKENS_AT_ONCE;
  }
};

METAL_FUNC uint steps_per_token(uint heads) { return (heads - 1) / HEADS_AT_ONCE + 1; }

/// Step number `i`, of all tokens.
METAL_FUNC HeadStep head_step(long i, uint heads) {
  const uint each = steps_per_token(heads);
  HeadStep result = {i / each * TOKENS_AT_ONCE, uint(i % each) * HEADS_AT_ONCE};
  return result;
}

/// A group's part of all steps: a group may have one more than another, but not a token more.
struct HeadSteps {
  long begin, count;
};

METAL_FUNC HeadSteps group_steps(long tokens, uint heads, uint group, uint groups) {
  const long steps = ((tokens - 1) / TOKENS_AT_ONCE + 1) * steps_per_token(heads);
  const long each = steps / groups, more = steps % groups;
  HeadSteps result = {group * each + min(long(group), more), each + (group < more ? 1 : 0)};
  return result;
}
