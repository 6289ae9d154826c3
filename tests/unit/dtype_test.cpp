// SPDX-License-Identifier: MIT
#include "norite/dtype.hpp"

#include <gtest/gtest.h>

#include <set>

#include "norite/error.hpp"

namespace norite {
namespace {

TEST(DType, names_are_distinct_and_parse_back) {
  std::set<std::string_view> names;
  for (const DType dtype : kAllDTypes) {
    EXPECT_TRUE(names.insert(name(dtype)).second) << name(dtype);
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
  }
  EXPECT_EQ(names.size(), 9U);
}

TEST(DType, other_text_is_no_dtype) {
  for (const char* text : {"", "F32", "f64", "f3", "f321", " f32", "bfloat16", "unknown"}) {
    EXPECT_EQ(parse_dtype(text), std::nullopt) << text;
  }
}

TEST(DType, sizes_are_those_of_the_elements) {
  EXPECT_EQ(size_of(DType::f32), 4);
  EXPECT_EQ(size_of(DType::f16), 2);
  EXPECT_EQ(size_of(DType::bf16), 2);
  EXPECT_EQ(size_of(DType::i32), 4);
  EXPECT_EQ(size_of(DType::u32), 4);
  EXPECT_EQ(size_of(DType::i16), 2);
  EXPECT_EQ(size_of(DType::u16), 2);
  EXPECT_EQ(size_of(DType::i8), 1);
  EXPECT_EQ(size_of(DType::u8), 1);
}

TEST(DType, floats_are_the_three_float_dtypes) {
  std::set<DType> floats;
  for (const DType dtype : kAllDTypes) {
    if (is_float(dtype)) floats.insert(dtype);
  }
  EXPECT_EQ(floats, std::set<DType>(kFloatDTypes.begin(), kFloatDTypes.end()));
}

TEST(Code, every_code_has_a_name_of_its_own) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(Code::internal); ++code) {
    EXPECT_TRUE(names.insert(name(static_cast<Code>(code))).second);
  }
  EXPECT_FALSE(names.contains("unknown"));
}

}  // namespace
}  // namespace norite
