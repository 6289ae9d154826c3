// SPDX-License-Identifier: MIT
#pragma once

#include "cases/comparison.hpp"

#include <norite/encoder.hpp>

#include <deque>
#include <memory>
#include <string>

namespace norite::cases {

/// What a problem's inputs hold and what its outputs are compared with.
struct Data {
  std::string seed;  ///< names the random sequence: the case's name
  FillKind fill = FillKind::normal;
  GivenTensors inputs = {};   ///< to use instead of random ones
  GivenTensors results = {};  ///< to compare with instead of the own reference's
};

/// One operation with its tensors in device memory, ready to run any number of times.
class Problem {
 public:
  Problem(const Device& device, Data data) : device_(device), data_(std::move(data)) {}
  virtual ~Problem() = default;
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;

  /// Makes the tensors; called once, before anything else.
  [[nodiscard]] virtual Result<void> prepare() = 0;
  /// Records the operation.
  [[nodiscard]] virtual Result<void> encode(Encoder& encoder) const = 0;

  /// Records, submits and waits.
  [[nodiscard]] Result<void> run() const;
  /// Compares outputs with the float64 reference, guards and inputs with what they were.
  [[nodiscard]] Result<Outcome> check() const;
  /// Puts every tensor back to what it held before the first run.
  [[nodiscard]] Result<void> reset();
  /// The elements of all outputs, row-major, one output after another: for bitwise comparisons.
  [[nodiscard]] Result<std::vector<std::byte>> output_bytes() const;
  /// The elements of one tensor, by the name of the operation's field.
  [[nodiscard]] Result<std::vector<std::byte>> bytes_of(std::string_view tensor) const;

 protected:
  enum class Role : uint8_t { input, output, in_place };

  /// An input filled with data().inputs[name], else `values`, else random numbers; as in_place, it
  /// is an output too.
  Result<const Tensor*> input(std::string name, DType dtype, const Shape& shape,
                              const Layout& layout = {}, Values values = {},
                              Role role = Role::input);
  Result<const Tensor*> output(std::string name, DType dtype, const Shape& shape,
                               const Layout& layout = {});

  /// Compares every output that the operation wrote.
  virtual Result<void> compare(Comparison& comparison) const = 0;

  /// Rows whose results are checked: all of them up to four million elements, else evenly spread
  /// ones, the first and the last included.
  static std::vector<int64_t> checked_rows(const Tensor& tensor);
  /// A tensor's view, or "not given".
  static View view_of(const Tensor* tensor) { return tensor != nullptr ? tensor->view() : View{}; }

 private:
  struct Entry {
    Tensor tensor;
    Role role;
  };

  Result<const Tensor*> unwritten(std::string name, DType dtype, const Shape& shape,
                                  const Layout& layout, Role role);

  Device device_;
  Data data_;
  std::deque<Entry> entries_;  // pointers to its tensors stay valid
};

}  // namespace norite::cases
