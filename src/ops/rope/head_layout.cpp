// SPDX-License-Identifier: MIT
#include "ops/rope/head_layout.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "ops/plan.hpp"

namespace norite::ops {

namespace {

/// items / each, rounded up; each is a power of two. The search below takes many.
int64_t shares(int64_t items, int64_t each) {
  return ((items - 1) >> std::countr_zero(static_cast<uint64_t>(each))) + 1;
}

/// About how many instructions a token takes, of one team's lanes each.
int64_t instructions(const HeadLayout& layout, int64_t heads) {
  constexpr int64_t kGroup = 150, kAngle = 70, kSlot = 170;
  const int64_t angles = shares(layout.slots * layout.width, layout.teams_per_token);
  const int64_t once = kGroup + kAngle * angles + kSlot * layout.heads_per_team * layout.slots;
  return once * layout.rounds(heads) * layout.teams_per_token;
}

}  // namespace

int64_t HeadLayout::rounds(int64_t heads) const {
  return shares(heads, teams_per_token * heads_per_team);
}

void HeadLayout::add_to(core::Macros& macros) const {
  macros.add({{"VECTOR_WIDTH", width},
              {"LANES_PER_HEAD", lanes},
              {"SLOTS", slots},
              {"TEAMS", teams},
              {"TEAMS_PER_TOKEN", teams_per_token},
              {"HEADS_PER_TEAM", heads_per_team},
              {"WHOLE_HEADS", flag(whole)},
              {"ALL_ROTATE", flag(all_rotate)}});
}

// A lane holds both packs of a slot. One slot is enough up to 32 lanes; lone elements take all
// lanes, and slots by powers of two, so that there are few forms of the kernel. Teams that share a
// token share its angles: where heads are few or odd in number, some idle rather than find more.
HeadLayout lay_out_heads(const HeadShapes& shapes, int64_t threads) {
  const int64_t pairs = shapes.head_dim / 2;
  const auto packs = static_cast<uint64_t>(std::max<int64_t>(1, pairs / shapes.width));
  const auto filled = static_cast<int64_t>(std::bit_ceil(packs));
  HeadLayout layout = {};
  layout.width = shapes.width;
  layout.lanes = shapes.width == 1 ? 32 : std::clamp<int64_t>(filled, 4, 32);
  layout.slots = std::max<int64_t>(1, filled / layout.lanes);
  layout.whole = layout.lanes * layout.slots * shapes.width == pairs;
  layout.all_rotate = shapes.rotating == pairs;
  layout.teams = threads / layout.lanes;

  HeadLayout best = layout;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  // Two packs of each half on their way, or what a head has.
  layout.heads_per_team = layout.slots == 1 ? 2 : 1;
  for (; layout.heads_per_team > 0; --layout.heads_per_team) {
    for (layout.teams_per_token = layout.teams; layout.teams_per_token > 0;
         layout.teams_per_token /= 2) {
      const int64_t cost = instructions(layout, shapes.heads);
      if (cost >= fewest) continue;
      fewest = cost;
      best = layout;
    }
  }
  return best;
}

}  // namespace norite::ops
