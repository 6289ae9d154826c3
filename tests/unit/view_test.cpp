// SPDX-License-Identifier: MIT
#include "norite/view.hpp"

#include <numeric>

#include "support.hpp"

namespace norite {
namespace {

using test::expect_refused;
using test::must;

constexpr int64_t kHuge = int64_t{1} << 62;

class ViewTest : public ::testing::Test {
 protected:
  // The element at an index of a view of int32, by the view's own arithmetic.
  static int32_t at(const View& view, std::initializer_list<int64_t> index) {
    int64_t element = 0;
    int axis = 0;
    for (const int64_t i : index) element += i * view.strides()[axis++];
    return reinterpret_cast<const int32_t*>(view.host_data())[element];
  }

  static Buffer counted(const Device& device, const Shape& shape) {
    Buffer buffer = must(device.empty(DType::i32, shape));
    std::vector<int32_t> values(static_cast<size_t>(buffer.count()));
    std::iota(values.begin(), values.end(), 0);
    must(buffer.write(std::as_bytes(std::span(values))));
    return buffer;
  }

  Device device_ = test::null_device();
  Buffer buffer_ = counted(device_, {4, 6});  // element [r, c] is 6 r + c
  View matrix_ = buffer_;
};

TEST_F(ViewTest, a_default_view_is_false_and_refuses_everything) {
  View view;
  EXPECT_FALSE(view);
  EXPECT_EQ(view.host_data(), nullptr);
  expect_refused(view.slice(0, 0, 1), {"slice"});
  expect_refused(view.reshape({}));
  expect_refused(view.permute({}));
  expect_refused(view.reinterpret(DType::i8));
  std::byte one{};
  expect_refused(view.read({&one, 1}));
  expect_refused(view.write({&one, 1}));
  expect_refused(View::make({}, DType::u8, {1}, {1}, 0), {"buffer"});
}

TEST_F(ViewTest, a_buffer_is_a_contiguous_view_of_itself) {
  EXPECT_TRUE(matrix_);
  EXPECT_EQ(matrix_.dtype(), DType::i32);
  EXPECT_EQ(matrix_.shape(), (Shape{4, 6}));
  EXPECT_EQ(matrix_.strides(), (Strides{6, 1}));
  EXPECT_EQ(matrix_.byte_offset(), 0);
  EXPECT_EQ(matrix_.size_bytes(), 96);
  EXPECT_TRUE(matrix_.contiguous());
}

TEST_F(ViewTest, views_keep_what_they_look_at) {
  View whole, row;
  {
    const Buffer buffer = counted(device_, {2, 3});
    whole = buffer;
    row = must(must(View(buffer).slice(0, 1, 2)).reshape({3}));
  }
  EXPECT_EQ(at(whole, {1, 2}), 5);
  EXPECT_EQ(at(row, {2}), 5);
  EXPECT_EQ(row.buffer().shape(), (Shape{2, 3}));
}

TEST_F(ViewTest, a_view_that_was_moved_away_is_not_given) {
  View view = matrix_;
  const View taken = std::move(view);
  EXPECT_EQ(taken.shape(), matrix_.shape());
  EXPECT_FALSE(view);                // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(view.shape(), Shape{});  // NOLINT(bugprone-use-after-move)
}

TEST_F(ViewTest, a_slice_of_a_slice_counts_from_the_slice) {
  const View rows = must(matrix_.slice(0, 1, 4));
  const View inner = must(rows.slice(0, 1, 3));
  const View corner = must(inner.slice(-1, 2, 5));
  EXPECT_EQ(corner.shape(), (Shape{2, 3}));
  EXPECT_EQ(corner.strides(), (Strides{6, 1}));
  EXPECT_EQ(corner.byte_offset(), (2 * 6 + 2) * 4);
  EXPECT_EQ(at(corner, {0, 0}), 14);
  EXPECT_EQ(at(corner, {1, 2}), 22);
  EXPECT_TRUE(inner.contiguous());
  EXPECT_FALSE(corner.contiguous());
}

TEST_F(ViewTest, a_slice_outside_the_axis_is_refused) {
  const View inner = must(matrix_.slice(1, 2, 4));
  for (const auto& [begin, end] : std::vector<std::pair<int64_t, int64_t>>{
           {-1, 1}, {0, 3}, {2, 3}, {1, 1}, {1, 0}, {0, INT64_MAX}, {INT64_MIN, 1}}) {
    expect_refused(inner.slice(1, begin, end), {"slice", "[4, 2]", "0 <= begin < end <= 2"});
  }
  for (const int axis : {2, -3, INT32_MAX, INT32_MIN}) {
    expect_refused(matrix_.slice(axis, 0, 1), {"slice", "axis", "-2 <= axis < 2"});
  }
}

TEST_F(ViewTest, reshape_keeps_the_elements_in_order) {
  const View cube = must(matrix_.reshape({2, 2, 3, 2}));
  EXPECT_EQ(cube.strides(), (Strides{12, 6, 2, 1}));
  EXPECT_EQ(at(cube, {1, 0, 2, 1}), 17);
  EXPECT_EQ(must(cube.reshape({24})).strides(), Strides{1});
  EXPECT_TRUE(must(cube.reshape({1, 24, 1})).contiguous());
}

TEST_F(ViewTest, reshape_of_a_strided_view_splits_and_joins_what_lies_evenly) {
  const View columns = must(matrix_.slice(1, 1, 5));  // [4, 4], strides [6, 1]
  const View split = must(columns.reshape({2, 2, 2, 2}));
  EXPECT_EQ(split.strides(), (Strides{12, 6, 2, 1}));
  EXPECT_EQ(at(split, {1, 1, 0, 1}), 6 * 3 + 2);
  EXPECT_EQ(must(split.reshape({4, 4})).strides(), (Strides{6, 1}));
  // One column is evenly spaced, so it can become anything.
  const View column = must(matrix_.slice(1, 5, 6));
  EXPECT_EQ(must(column.reshape({2, 2})).strides(), (Strides{12, 6}));
}

TEST_F(ViewTest, reshape_across_a_gap_is_refused) {
  const View columns = must(matrix_.slice(1, 1, 5));
  expect_refused(columns.reshape({16}), {"reshape", "[16]", "copy"});
  expect_refused(columns.reshape({2, 8}), {"copy"});
  expect_refused(must(matrix_.permute({1, 0})).reshape({24}), {"copy"});
}

TEST_F(ViewTest, reshape_to_another_number_of_elements_is_refused) {
  for (const Shape& shape : {Shape{}, Shape{23}, Shape{25}, Shape{-4, -6}, Shape{0}, Shape{24, 0},
                             Shape{kHuge, 4, 6}, Shape{4, 6, 1, 1, 1, 1, 1, 1, 1}}) {
    expect_refused(matrix_.reshape(shape), {"reshape"});
  }
}

TEST_F(ViewTest, permute_moves_the_axes) {
  const View cube = must(matrix_.reshape({2, 3, 4}));
  const View moved = must(cube.permute({2, 0, 1}));
  EXPECT_EQ(moved.shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(moved.strides(), (Strides{1, 12, 4}));
  EXPECT_EQ(at(moved, {3, 1, 2}), at(cube, {1, 2, 3}));
  EXPECT_EQ(must(moved.permute({1, 2, 0})).strides(), cube.strides());
  EXPECT_EQ(must(cube.permute({-3, -2, -1})).strides(), cube.strides());
}

TEST_F(ViewTest, permute_must_name_each_axis_once) {
  const auto refused = [&](std::initializer_list<int> order) {
    expect_refused(matrix_.permute(order), {"permute"});
  };
  refused({});
  refused({0});
  refused({0, 0});
  refused({0, 1, 1});
  refused({0, 2});
  refused({-3, 0});
  refused({0, 1, 0, 1, 0, 1, 0, 1, 0});
}

TEST_F(ViewTest, reinterpret_keeps_the_place_and_changes_the_dtype) {
  const View part = must(matrix_.slice(1, 2, 4));
  const View bits = must(part.reinterpret(DType::f32));
  EXPECT_EQ(bits.dtype(), DType::f32);
  EXPECT_EQ(bits.shape(), part.shape());
  EXPECT_EQ(bits.strides(), part.strides());
  EXPECT_EQ(bits.byte_offset(), part.byte_offset());
  expect_refused(matrix_.reinterpret(DType::f16), {"reinterpret", "f16"});
  expect_refused(matrix_.reinterpret(DType::u8), {"u8"});
}

TEST_F(ViewTest, make_accepts_what_just_fits) {
  EXPECT_TRUE(View::make(buffer_, DType::i32, {4, 6}, {6, 1}, 0));
  EXPECT_TRUE(View::make(buffer_, DType::u8, {96}, {1}, 0));
  EXPECT_TRUE(View::make(buffer_, DType::i32, {2}, {23}, 0));
  EXPECT_TRUE(View::make(buffer_, DType::i32, {}, {}, 92));
  EXPECT_TRUE(View::make(buffer_, DType::i16, {1}, {1}, 94));
  EXPECT_TRUE(View::make(buffer_, DType::i32, {1, 24}, {kHuge, 1}, 0)) << "never stepped over";
}

TEST_F(ViewTest, make_with_stride_zero_repeats_an_element) {
  const View repeated = must(View::make(buffer_, DType::i32, {1000, 6}, {0, 1}, 24));
  EXPECT_EQ(repeated.count(), 6000);
  EXPECT_FALSE(repeated.contiguous());
  EXPECT_EQ(at(repeated, {999, 5}), 11);
}

struct Misfit {
  const char* why;
  DType dtype;
  Shape shape;
  Strides strides;
  int64_t byte_offset;
};

TEST_F(ViewTest, make_refuses_what_does_not_fit) {
  const std::vector<Misfit> misfits = {
      {"one element too many", DType::i32, {25}, {1}, 0},
      {"one byte too far", DType::u8, {96}, {1}, 1},
      {"last row outside", DType::i32, {4, 6}, {7, 1}, 0},
      {"starts at the end", DType::i32, {1}, {1}, 96},
      {"starts behind the end", DType::i32, {1}, {1}, 100},
      {"offset negative", DType::i32, {1}, {1}, -4},
      {"offset overflows", DType::i32, {2}, {1}, INT64_MAX - 3},
      {"offset underflows", DType::i32, {2}, {1}, INT64_MIN},
      {"offset not a multiple of the element", DType::i32, {1}, {1}, 2},
      {"offset odd for two bytes", DType::bf16, {1}, {1}, 3},
      {"stride negative", DType::i32, {4}, {-1}, 92},
      {"stride negative where never stepped over", DType::i32, {1}, {-1}, 0},
      {"stride times extent overflows", DType::i32, {3}, {kHuge}, 0},
      {"sum of strides overflows", DType::i32, {2, 2, 2}, {kHuge, kHuge, kHuge}, 0},
      {"bytes overflow", DType::i32, {2}, {kHuge}, 0},
      {"bytes of repeated elements overflow", DType::i32, {kHuge}, {0}, 0},
      {"count overflows", DType::u8, {kHuge, kHuge}, {0, 0}, 0},
      {"extent zero", DType::i32, {0}, {1}, 0},
      {"extent negative", DType::i32, {-1}, {1}, 0},
      {"fewer strides than axes", DType::i32, {2, 2}, {1}, 0},
      {"more strides than axes", DType::i32, {2}, {1, 1}, 0},
      {"nine axes", DType::u8, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, 0},
      {"nine strides", DType::u8, {1}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, 0},
      {"no dtype", static_cast<DType>(99), {1}, {1}, 0},
  };
  for (const Misfit& misfit : misfits) {
    SCOPED_TRACE(misfit.why);
    expect_refused(
        View::make(buffer_, misfit.dtype, misfit.shape, misfit.strides, misfit.byte_offset),
        {"view"});
  }
}

TEST_F(ViewTest, make_is_bounded_by_what_was_asked_for_not_by_what_the_pool_gave) {
  const Buffer pooled = must(device_.pool().acquire(DType::u8, {10}));
  ASSERT_GT(pooled.capacity_bytes(), 10);
  EXPECT_TRUE(View::make(pooled, DType::u8, {10}, {1}, 0));
  expect_refused(View::make(pooled, DType::u8, {11}, {1}, 0));
}

TEST_F(ViewTest, host_copies_go_to_the_place_of_the_view) {
  View rows = must(matrix_.slice(0, 1, 3));
  std::vector<int32_t> values(12);
  must(rows.read(std::as_writable_bytes(std::span(values))));
  EXPECT_EQ(values.front(), 6);
  EXPECT_EQ(values.back(), 17);
  std::fill(values.begin(), values.end(), -1);
  must(rows.write(std::as_bytes(std::span(values))));
  const auto all = test::contents<int32_t>(buffer_);
  EXPECT_EQ(all[5], 5);
  EXPECT_EQ(all[6], -1);
  EXPECT_EQ(all[17], -1);
  EXPECT_EQ(all[18], 18);
}

TEST_F(ViewTest, host_copies_of_a_strided_view_or_another_size_are_refused) {
  View columns = must(matrix_.slice(1, 0, 3));
  std::vector<std::byte> bytes(static_cast<size_t>(columns.size_bytes()));
  expect_refused(columns.read(bytes), {"view read", "strided"});
  expect_refused(columns.write(bytes), {"view write", "strided"});
  expect_refused(matrix_.read(bytes), {"view read", "48", "96"});
  expect_refused(matrix_.write(bytes), {"view write", "48", "96"});
  // The size of endlessly repeated elements is a number, too.
  View repeated = must(View::make(buffer_, DType::u8, {kHuge}, {0}, 0));
  expect_refused(repeated.read(bytes), {"view read"});
}

TEST_F(ViewTest, buffer_copies_outside_the_buffer_are_refused) {
  std::vector<std::byte> bytes(8);
  EXPECT_TRUE(buffer_.read(bytes, 88));
  EXPECT_TRUE(buffer_.read({}, 96));
  for (const int64_t offset : {int64_t{89}, int64_t{96}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    expect_refused(buffer_.read(bytes, offset), {"buffer read", "96"});
    expect_refused(buffer_.write(bytes, offset), {"buffer write", "96"});
  }
  expect_refused(Buffer().read(bytes), {"buffer read"});
  expect_refused(Buffer().write(bytes), {"buffer write"});
  // A pool's buffer ends where the request ended.
  const Buffer pooled = must(device_.pool().acquire(DType::u8, {7}));
  expect_refused(pooled.read(bytes), {"buffer read", "7"});
}

}  // namespace
}  // namespace norite
