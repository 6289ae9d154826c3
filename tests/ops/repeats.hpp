// SPDX-License-Identifier: MIT
#pragma once

#include "ops/row_operations.hpp"

namespace norite::test {

/// One operation again and again, compared bit by bit on the device itself: what it computed first
/// is what it has to compute every time. The device runs kernel text.
class Repeats {
 public:
  Repeats(const Device& device, const RowOperation& operation, const RowOperands& inputs);

  /// Runs so often; gives the number of 32-bit words that differed.
  [[nodiscard]] uint32_t run(int repeats);

 private:
  [[nodiscard]] Result<void> encode_once(Encoder& encoder) const;

  Device device_;
  RowOperation operation_;
  RowOperands operands_, first_;
  Pipeline compare_;
  Buffer differences_;
};

}  // namespace norite::test
