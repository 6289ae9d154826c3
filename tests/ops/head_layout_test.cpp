// SPDX-License-Identifier: MIT
// How lanes and teams share heads: every head has its place, and few places are idle.
#include "ops/rope/head_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace norite {
namespace {

using ops::HeadLayout;
using ops::lay_out_heads;

HeadLayout lay_out(int64_t heads, int64_t head_dim, int64_t width, int64_t threads = 64) {
  return lay_out_heads(
      {.heads = heads, .head_dim = head_dim, .rotating = head_dim / 2, .width = width}, threads);
}

/// Heads that the groups of a token have room for.
int64_t places(const HeadLayout& layout, int64_t heads) {
  return layout.rounds(heads) * layout.teams_per_token * layout.heads_per_team;
}

TEST(HeadLayout, ALaneHoldsAPackOfEachHalf) {
  const HeadLayout bf16 = lay_out(32, 128, 8);
  EXPECT_EQ(bf16.lanes, 8);
  EXPECT_EQ(bf16.slots, 1);
  EXPECT_TRUE(bf16.whole);
  const HeadLayout f32 = lay_out(16, 512, 4);
  EXPECT_EQ(f32.lanes, 32);
  EXPECT_EQ(f32.slots, 2);
  EXPECT_FALSE(lay_out(16, 80, 8).whole);
}

TEST(HeadLayout, ManyHeadsGoToSeveralGroups) {
  const HeadLayout layout = lay_out(32, 128, 8);
  EXPECT_EQ(layout.heads_per_team, 2);
  EXPECT_EQ(layout.teams_per_token, 8);
  EXPECT_EQ(layout.rounds(32), 2);
}

TEST(HeadLayout, FewHeadsShareAGroupWithThoseOfOtherTokens) {
  const HeadLayout layout = lay_out(4, 128, 8);
  EXPECT_EQ(layout.rounds(4), 1);
  EXPECT_EQ(places(layout, 4), 4);
  EXPECT_GT(layout.tokens_at_once(), 1);
}

TEST(HeadLayout, LongHeadsGoOneByOne) {
  EXPECT_EQ(lay_out(8, 256, 4).heads_per_team, 2);
  EXPECT_EQ(lay_out(8, 512, 4).heads_per_team, 1);
  EXPECT_EQ(lay_out(8, 1024, 4).heads_per_team, 1);
  EXPECT_EQ(lay_out(8, 1022, 1).heads_per_team, 1);
}

TEST(HeadLayout, EveryHeadHasItsPlace) {
  for (const int64_t width : {1, 4, 8}) {
    for (const int64_t threads : {64, 128, 256}) {
      for (int64_t heads = 1; heads <= 130; ++heads) {
        const HeadLayout layout = lay_out(heads, 128, width, threads);
        EXPECT_EQ(layout.threads(), threads);
        EXPECT_EQ(layout.teams % layout.teams_per_token, 0);
        EXPECT_GE(places(layout, heads), heads);
        EXPECT_LT(places(layout, heads), std::max<int64_t>(heads + heads / 2, 2) + 4) << heads;
      }
    }
  }
}

}  // namespace
}  // namespace norite
