// SPDX-License-Identifier: MIT
// How a group goes through its heads. It takes neighbouring tokens, TOKENS_AT_ONCE at a time. Its
// teams, HEADS_PER_GROUP of them, lie as TOKEN_STEP tokens times HEAD_STEP heads; HEAD_STEP divides
// the number of heads and TOKEN_STEP divides TOKENS_AT_ONCE, so that all teams are busy all the
// time and done with the tokens at the same time.
#pragma once

#include "rope/params.h"

/// The tokens of one group.
struct TokenRange {
  long begin, end;
};

METAL_FUNC TokenRange tokens_of(uint group, uint groups, long tokens) {
  const long batches = (tokens - 1) / TOKENS_AT_ONCE + 1;
  const long share = ((batches - 1) / groups + 1) * TOKENS_AT_ONCE;
  const long begin = min(group * share, tokens);
  TokenRange range = {begin, min(begin + share, tokens)};
  return range;
}

/// The head that a team is at.
struct HeadWalk {
  long token;
  uint head, heads;

  bool last_of_token() const { return head + HEAD_STEP >= heads; }
  void step() {
    const bool last = last_of_token();
    token += last ? TOKEN_STEP : 0;
    head = last ? head % HEAD_STEP : head + HEAD_STEP;
  }
};

METAL_FUNC HeadWalk walk_from(long first_token, uint team, long heads) {
  HeadWalk walk = {first_token + team / HEAD_STEP, team % HEAD_STEP, uint(heads)};
  return walk;
}

/// Where the walk is in one operand, in elements: stepped along, since products of 64 bits are
/// slow.
struct HeadOffset {
  long at, to_head, to_token;

  void start(HeadWalk walk, constant HeadStrides& strides) {
    at = walk.token * strides.token + walk.head * strides.head;
    to_head = HEAD_STEP * strides.head;
    to_token = TOKEN_STEP * strides.token - long(walk.heads - HEAD_STEP) * strides.head;
  }
  /// Before the walk itself takes its step.
  void step(HeadWalk walk) { at += walk.last_of_token() ? to_token : to_head; }
};
