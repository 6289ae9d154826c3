// SPDX-License-Identifier: MIT
#pragma once

#include "cases/values.hpp"

#include <norite/device.hpp>
#include <norite/view.hpp>

#include <optional>
#include <string>

namespace norite::cases {

/// How a tensor's elements lie in memory.
struct Layout {
  int64_t row_gap = 0;          ///< guard elements after each row
  std::vector<int> order = {};  ///< axes from the outermost in memory; empty: the shape's order
  bool repeat_row = false;      ///< one row serves all rows: their stride is 0
};

/// A tensor's memory after a run, guards included. Lives no longer than its tensor.
class Snapshot {
 public:
  Snapshot(const View& view, std::vector<std::byte> copy);
  Snapshot(Snapshot&&) noexcept = default;
  Snapshot& operator=(Snapshot&&) noexcept = default;

  /// Elements [first, first + count), counted row-major whatever their layout in memory.
  [[nodiscard]] Values values(int64_t first, int64_t count) const;
  /// Whether an element still holds the poison of an output that nothing wrote.
  [[nodiscard]] bool unwritten(int64_t index) const;
  /// All elements, row-major, without the guards.
  [[nodiscard]] std::vector<std::byte> elements() const;
  /// What happened to the first guard byte that no longer holds its value; empty if all do.
  [[nodiscard]] std::optional<std::string> damage() const;

 private:
  const View* view_;
  std::vector<std::byte> copy_;  ///< empty where the host addresses the memory
  const std::byte* bytes_;
  int64_t size_bytes_;
};

/// A tensor in device memory of its own, with guard bytes before, after and between its rows.
///
/// Guards, and outputs that were not written yet, hold 0xFF: a NaN in every float dtype, so that
/// a stray read or a missing write shows in the results. Initial values repeat after about a
/// million elements, so that a tensor of gigabytes needs no second copy on the host.
class Tensor {
 public:
  static constexpr int64_t kGuardBytes = 256;
  static constexpr int64_t kPeriod = 1'048'573;  // prime: no two rows of one tensor are equal

  /// Contents beyond values.size() repeat; empty values leave the elements poisoned.
  static Result<Tensor> make(const Device& device, std::string name, DType dtype,
                             const Shape& shape, const Layout& layout, const Values& values);

  /// The same with nothing written to it: zeros, and no guards.
  static Result<Tensor> allocate(const Device& device, std::string name, DType dtype,
                                 const Shape& shape, const Layout& layout);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const View& view() const { return view_; }
  /// Length of the last axis, and how many such rows there are.
  [[nodiscard]] int64_t row_length() const;
  [[nodiscard]] int64_t row_count() const;

  /// A row, or an element counted row-major, as it was before the run.
  [[nodiscard]] Values row(int64_t index) const;
  [[nodiscard]] double at(int64_t index) const;
  /// Puts the initial contents back.
  [[nodiscard]] Result<void> reset();
  [[nodiscard]] Result<Snapshot> snapshot() const;
  /// Whether every element still has its initial value.
  [[nodiscard]] bool unchanged(const Snapshot& snapshot) const;

 private:
  Result<void> write_elements(int64_t first, int64_t count, int64_t offset_bytes);

  std::string name_;
  Buffer buffer_;
  View view_;
  std::vector<std::byte> pattern_;  ///< encoded initial values; empty for a poisoned output
  int64_t period_ = 0;              ///< elements in pattern_
};

}  // namespace norite::cases
