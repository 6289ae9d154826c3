// SPDX-License-Identifier: MIT
// The elementwise operations as one table: what each takes, gives, and should compute.
#pragma once

#include "cases/case.hpp"

#include <array>
#include <span>

namespace norite::cases {

/// Up to three inputs and two outputs, by the names of the operation's fields.
struct ElementwiseOperation {
  std::string_view name;
  std::string_view option;  ///< of the operation: "tanh", or nothing
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  int64_t flops;  ///< of one element
  /// Views in the order of the names; an output may be without one.
  Result<void> (*encode)(Encoder& encoder, std::span<const View> in, std::span<const View> out);
  /// The outputs of one element.
  std::array<Expected, 2> (*expected)(std::span<const double> in);
};

std::span<const ElementwiseOperation> elementwise_operations();

/// One case of an operation.
struct ElementwiseSpec {
  enum class Lies : uint8_t {
    contiguous,
    strided,     ///< gaps after each row
    transposed,  ///< the first input's last two axes are swapped in memory
    permuted,    ///< the first output's first two axes are
    repeated,    ///< one row of the last input serves all rows
  };
  enum class Wanted : uint8_t { all, first, second };

  DType dtype = DType::f32;
  DType out_dtype = DType::f32;
  Shape shape;
  Lies lies = Lies::contiguous;
  int in_place = -1;  ///< the input that the first output is
  Wanted wanted = Wanted::all;
};

}  // namespace norite::cases
