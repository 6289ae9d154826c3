// SPDX-License-Identifier: MIT
#include "norite/error.hpp"

#include <gtest/gtest.h>

namespace norite {
namespace {

Result<int> number(bool good) {
  if (good) return 1;
  return fail(Code::not_found, "no number");
}

// clang-format off
Result<int> sum(bool first, bool second) {
  NORITE_TRY_ASSIGN(const int a, number(first)); NORITE_TRY_ASSIGN(const int b, number(second));
  NORITE_TRY([&]() -> Result<void> { NORITE_TRY(number(a == b)); return {}; }());
  return a + b;
}
// clang-format on

TEST(Try, MayStandTwiceInALineAndInsideOfItself) {
  EXPECT_EQ(sum(true, true).value(), 2);
  EXPECT_EQ(sum(false, true).error().code, Code::not_found);
  EXPECT_EQ(sum(true, false).error().code, Code::not_found);
}

}  // namespace
}  // namespace norite
