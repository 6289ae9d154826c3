// SPDX-License-Identifier: MIT
#include "core/footprint.hpp"

#include <map>
#include <random>
#include <set>

#include "support.hpp"

namespace norite::core {
namespace {

using test::must;

// How often a view reaches each byte, by walking all of its elements.
std::map<int64_t, int> walk(const View& view) {
  std::map<int64_t, int> bytes;
  std::vector<int64_t> index(static_cast<size_t>(view.shape().rank()));
  for (int64_t n = 0; n < view.count(); ++n) {
    int64_t element = 0;
    int64_t rest = n;
    for (int axis = view.shape().rank() - 1; axis >= 0; --axis) {
      element += rest % view.shape()[axis] * view.strides()[axis];
      rest /= view.shape()[axis];
    }
    for (int64_t byte = 0; byte < size_of(view.dtype()); ++byte) {
      ++bytes[view.byte_offset() + element * size_of(view.dtype()) + byte];
    }
  }
  return bytes;
}

bool share_bytes(const View& a, const View& b) {
  const auto in_b = walk(b);
  for (const auto& [byte, count] : walk(a)) {
    if (in_b.contains(byte)) return true;
  }
  return false;
}

bool repeats_itself(const View& view) { return view.layout().repeats_itself; }
bool overlap(const View& a, const View& b) { return may_overlap(footprint(a), footprint(b)); }

class FootprintTest : public ::testing::Test {
 protected:
  View tensor(const Shape& shape) { return must(device_.empty(DType::f32, shape)); }

  Device device_ = test::null_device();
};

TEST_F(FootprintTest, separate_buffers_never_meet) {
  const View a = tensor({8});
  EXPECT_FALSE(overlap(a, tensor({8})));
  EXPECT_TRUE(overlap(a, a));
}

TEST_F(FootprintTest, rectangles_of_one_matrix_meet_exactly_when_they_share_elements) {
  const View matrix = tensor({3, 4});
  std::vector<View> rectangles;
  for (int64_t top = 0; top < 3; ++top) {
    for (int64_t bottom = top + 1; bottom <= 3; ++bottom) {
      for (int64_t left = 0; left < 4; ++left) {
        for (int64_t right = left + 1; right <= 4; ++right) {
          rectangles.push_back(must(must(matrix.slice(0, top, bottom)).slice(1, left, right)));
        }
      }
    }
  }
  for (const View& a : rectangles) {
    for (const View& b : rectangles) {
      ASSERT_EQ(overlap(a, b), share_bytes(a, b))
          << to_string(a.shape()) << " at " << a.byte_offset() << ", " << to_string(b.shape())
          << " at " << b.byte_offset();
    }
  }
}

TEST_F(FootprintTest, parts_of_a_packed_qkv_are_apart) {
  const View qkv = tensor({5, 3, 2, 4});  // [tokens, which, heads, head_dim]
  const View q = must(qkv.slice(1, 0, 1));
  const View k = must(qkv.slice(1, 1, 2));
  const View qk = must(qkv.slice(1, 0, 2));
  EXPECT_FALSE(overlap(q, k));
  EXPECT_TRUE(overlap(q, qk));
  EXPECT_TRUE(overlap(k, qk));
}

TEST_F(FootprintTest, interleaved_heads_are_apart) {
  const View heads = tensor({5, 4, 8});  // [tokens, heads, head_dim]
  for (int64_t a = 0; a < 4; ++a) {
    for (int64_t b = 0; b < 4; ++b) {
      EXPECT_EQ(overlap(must(heads.slice(1, a, a + 1)), must(heads.slice(1, b, b + 1))), a == b);
    }
  }
}

TEST_F(FootprintTest, permuting_axes_changes_nothing) {
  const View cache = tensor({4, 6, 8});
  const View written = must(must(cache.slice(1, 2, 3)).permute({1, 0, 2}));
  EXPECT_TRUE(overlap(written, cache));
  EXPECT_TRUE(overlap(written, must(cache.slice(1, 1, 3))));
  EXPECT_FALSE(overlap(written, must(cache.slice(1, 3, 6))));
  EXPECT_FALSE(overlap(written, must(must(cache.slice(1, 0, 2)).permute({2, 1, 0}))));
}

TEST_F(FootprintTest, a_repeated_row_touches_its_bytes_once) {
  const View matrix = tensor({4, 8});
  const View row = must(View::make(matrix.buffer(), DType::f32, {100, 8}, {0, 1}, 32));
  EXPECT_EQ(footprint(row).bytes, 32);
  EXPECT_TRUE(overlap(row, must(matrix.slice(0, 1, 2))));
  EXPECT_FALSE(overlap(row, must(matrix.slice(0, 0, 1))));
  EXPECT_FALSE(overlap(row, must(matrix.slice(0, 2, 4))));
}

TEST_F(FootprintTest, bytes_counts_what_a_view_touches) {
  const View matrix = tensor({4, 8});
  EXPECT_EQ(footprint(matrix).bytes, 128);
  EXPECT_EQ(footprint(must(matrix.slice(1, 3, 5))).bytes, 32);
  EXPECT_EQ(footprint(must(matrix.permute({1, 0}))).bytes, 128);
}

TEST_F(FootprintTest, only_repeated_elements_repeat) {
  const View matrix = tensor({4, 8});
  const auto made = [&](const Shape& shape, const Strides& strides) {
    return must(View::make(matrix.buffer(), DType::f32, shape, strides, 0));
  };
  EXPECT_FALSE(repeats_itself(matrix));
  EXPECT_FALSE(repeats_itself(must(matrix.permute({1, 0}))));
  EXPECT_FALSE(repeats_itself(must(matrix.slice(1, 2, 4))));
  EXPECT_FALSE(repeats_itself(made({1, 8}, {0, 1}))) << "a single row is not repeated";
  EXPECT_TRUE(repeats_itself(made({4, 8}, {0, 1})));
  EXPECT_TRUE(repeats_itself(made({2, 8}, {7, 1}))) << "rows that share one element";
  EXPECT_TRUE(repeats_itself(made({4, 4}, {1, 1})));
}

TEST_F(FootprintTest, the_same_view_is_the_same_elements_in_the_same_places) {
  const View matrix = tensor({4, 8});
  const View row = must(matrix.slice(0, 1, 2));
  EXPECT_TRUE(same_view(matrix, matrix.buffer()));
  EXPECT_FALSE(same_view(matrix, tensor({4, 8})));
  EXPECT_FALSE(same_view(matrix, must(matrix.reshape({8, 4}))));
  EXPECT_FALSE(same_view(matrix, must(matrix.reinterpret(DType::i32))));
  EXPECT_FALSE(same_view(row, must(matrix.slice(0, 2, 3))));
  EXPECT_FALSE(same_view(must(matrix.slice(1, 0, 4)), must(matrix.slice(1, 4, 8))));
  EXPECT_TRUE(same_view(row, must(row.reshape({1, 8})))) << "the stride of one row leads nowhere";
}

// Every claim against walking the elements, on views that nobody would write by hand.
TEST_F(FootprintTest, holds_for_random_views) {
  const Buffer buffer = must(device_.empty(DType::u8, {160}));
  std::mt19937 random(42);
  const auto below = [&](int64_t limit) { return static_cast<int64_t>(random() % limit); };
  const auto random_view = [&]() -> View {
    for (;;) {
      Shape shape;
      Strides strides;
      for (int64_t rank = below(4); rank > 0; --rank) {
        shape.push_back(1 + below(5));
        strides.push_back(below(3) == 0 ? below(3) : below(24));
      }
      const DType dtype = std::array{DType::u8, DType::f16, DType::f32}[below(3)];
      const int64_t offset = below(160 / size_of(dtype)) * size_of(dtype);
      if (auto view = View::make(buffer, dtype, shape, strides, offset)) return *view;
    }
  };
  int apart = 0;
  for (int i = 0; i < 20'000; ++i) {
    const View a = random_view();
    const View b = random_view();
    const auto bytes = walk(a);
    const Footprint print = footprint(a);
    ASSERT_EQ(print.begin, bytes.begin()->first);
    ASSERT_EQ(print.end, bytes.rbegin()->first + 1);
    const bool repeats =
        std::any_of(bytes.begin(), bytes.end(), [](const auto& byte) { return byte.second > 1; });
    ASSERT_TRUE(repeats_itself(a) || !repeats);
    if (!repeats) {
      ASSERT_EQ(print.bytes, static_cast<int64_t>(bytes.size()));
    }
    ASSERT_TRUE(overlap(a, b) || !share_bytes(a, b))
        << to_string(a.shape()) << to_string(a.strides()) << a.byte_offset() << " and "
        << to_string(b.shape()) << to_string(b.strides()) << b.byte_offset();
    ASSERT_EQ(overlap(a, b), overlap(b, a));
    apart += overlap(a, b) ? 0 : 1;
  }
  EXPECT_GT(apart, 1000) << "always saying yes would be no proof";
}

}  // namespace
}  // namespace norite::core
