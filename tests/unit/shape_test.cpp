// SPDX-License-Identifier: MIT
#include "norite/shape.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace norite {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

TEST(Shape, count_is_the_product_of_the_extents) {
  EXPECT_EQ((Shape{}).count(), 1);
  EXPECT_EQ((Shape{7}).count(), 7);
  EXPECT_EQ((Shape{2, 3, 4}).count(), 24);
  EXPECT_EQ((Shape{2, 0, 4}).count(), 0);
  EXPECT_EQ((Shape{INT64_MAX}).count(), INT64_MAX);
  EXPECT_EQ((Shape{kHuge, 1 << 20}).count(), int64_t{1} << 60);
}

TEST(Shape, count_is_empty_where_the_product_overflows) {
  EXPECT_EQ((Shape{kHuge, kHuge}).count(), std::nullopt);
  EXPECT_EQ((Shape{INT64_MAX, 2}).count(), std::nullopt);
  EXPECT_EQ((Shape{0, kHuge, kHuge}).count(), std::nullopt) << "a zero must not hide the overflow";
  EXPECT_EQ((Shape{kHuge, kHuge, 0}).count(), std::nullopt) << "a zero must not hide the overflow";
}

TEST(Shape, count_is_empty_for_a_negative_extent) {
  EXPECT_EQ((Shape{-1}).count(), std::nullopt);
  EXPECT_EQ((Shape{-2, -3}).count(), std::nullopt);
  EXPECT_EQ((Shape{0, -1}).count(), std::nullopt);
}

TEST(Shape, holds_eight_axes_and_refuses_a_ninth) {
  const Shape eight{1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_TRUE(eight.valid());
  EXPECT_EQ(eight.rank(), 8);
  EXPECT_EQ(eight.count(), 40320);

  const Shape nine{1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_FALSE(nine.valid());
  EXPECT_EQ(nine.rank(), 0);
  EXPECT_EQ(nine.count(), std::nullopt);
  EXPECT_NE(nine, Shape{});

  const std::vector<int64_t> many(1000, 1);
  EXPECT_FALSE(Shape(std::span(many)).valid());
}

TEST(Shape, push_back_of_a_ninth_axis_makes_it_invalid_for_good) {
  Shape shape{1, 2, 3, 4, 5, 6, 7};
  shape.push_back(8);
  EXPECT_EQ(shape, (Shape{1, 2, 3, 4, 5, 6, 7, 8}));
  shape.push_back(9);
  EXPECT_FALSE(shape.valid());
  shape.push_back(10);
  EXPECT_FALSE(shape.valid());
}

TEST(Shape, back_counts_from_the_last_axis) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.back(), 4);
  EXPECT_EQ(shape.back(1), 3);
  EXPECT_EQ(shape.back(2), 2);
}

TEST(Shape, equality_compares_rank_and_extents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE((Shape{}), (Shape{1}));
}

TEST(Shape, text_lists_the_extents) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{5}), "[5]");
  EXPECT_EQ(to_string(Shape{2, -3, 4}), "[2, -3, 4]");
  EXPECT_EQ(to_string(Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), "[more than 8 axes]");
}

TEST(Shape, contiguous_strides_are_row_major) {
  EXPECT_EQ(contiguous_strides({}), Strides{});
  EXPECT_EQ(contiguous_strides({5}), Strides{1});
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
}

}  // namespace
}  // namespace norite
