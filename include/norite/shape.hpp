// SPDX-License-Identifier: MIT
#pragma once

#include <norite/export.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

namespace norite {

/// Up to eight 64-bit extents, without heap memory. Also used for strides, in elements.
///
/// A longer list makes a shape whose valid() is false; whatever takes a shape refuses it.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  constexpr Shape() noexcept = default;
  constexpr Shape(std::initializer_list<int64_t> extents) noexcept
      : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}
  constexpr explicit Shape(std::span<const int64_t> extents) noexcept
      : rank_(extents.size() <= kMaxRank ? static_cast<int>(extents.size()) : kInvalid) {
    std::copy_n(extents.begin(), rank(), extents_.begin());
  }

  [[nodiscard]] constexpr bool valid() const noexcept { return rank_ != kInvalid; }
  [[nodiscard]] constexpr int rank() const noexcept { return rank_ == kInvalid ? 0 : rank_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return rank() == 0; }
  constexpr int64_t operator[](int axis) const noexcept { return extents_[axis]; }
  constexpr int64_t& operator[](int axis) noexcept { return extents_[axis]; }
  /// Counts from the end: back() is the last axis, back(1) the one before it.
  [[nodiscard]] constexpr int64_t back(int from_last = 0) const noexcept {
    return extents_[rank_ - 1 - from_last];
  }
  [[nodiscard]] constexpr const int64_t* begin() const noexcept { return extents_.data(); }
  [[nodiscard]] constexpr const int64_t* end() const noexcept { return extents_.data() + rank(); }
  constexpr void push_back(int64_t extent) noexcept {
    if (rank_ == kMaxRank || !valid()) {
      rank_ = kInvalid;
    } else {
      extents_[rank_++] = extent;
    }
  }

  /// Product of the extents; empty if one is negative or the product passes 2^63.
  [[nodiscard]] NORITE_API std::optional<int64_t> count() const noexcept;

  friend constexpr bool operator==(const Shape& a, const Shape& b) noexcept {
    return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  static constexpr int kInvalid = -1;
  std::array<int64_t, kMaxRank> extents_ = {};
  int rank_ = 0;
};

using Strides = Shape;

/// "[2, 3, 4]"
NORITE_API std::string to_string(const Shape& shape);
/// Row-major strides, in elements.
NORITE_API Strides contiguous_strides(const Shape& shape) noexcept;

}  // namespace norite
