// SPDX-License-Identifier: MIT
// A row's result does not depend on its neighbours or on where it lies: every row alone, as a slice
// that starts at any alignment, as a copy at the beginning of a buffer and with some operands here
// and some there, gives the bits that it gives in the batch. So does one head of a row.
#include <gtest/gtest.h>

#include "host_values.hpp"
#include "ops/row_operations.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;
using test::RowOperands;
using test::RowOperation;

class BatchInvariance : public test::OnDevice<std::tuple<std::string, DType>> {
 protected:
  /// Checks some of the rows alone.
  void check(const RowOperation& operation, int64_t rows, int64_t dim) const {
    SCOPED_TRACE(std::string(operation.name) + " dim " + std::to_string(dim));
    const Shape shape = operation.heads == 0 ? Shape{rows, dim} : Shape{rows, operation.heads, dim};
    const auto batch = RowOperands::make(device(), std::get<DType>(GetParam()), shape);
    const auto alone = batch.with_own_outputs(device());
    test::run(device(), [&](Encoder& e) { return operation.encode(e, batch, kFirst); });
    const int64_t checked = std::min(rows, test::as_many_on(device(), 9, 3));
    for (int64_t i = 0; i < checked; ++i) {
      const int64_t row = i * (rows - 1) / (checked - 1);
      const RowOperands expected = row_of(batch, row);
      const RowOperands slice = row_of(alone, row);
      const RowOperands copy = copy_of(slice);
      RowOperands mixed = slice.with_own_outputs(device());
      mixed.other = copy.other;
      for (const RowOperands& one : {slice, copy, mixed}) {
        test::run(device(), [&](Encoder& e) { return operation.encode(e, one, kFirst + row); });
        EXPECT_TRUE(same_bits(one, expected)) << "row " << row;
      }
      if (operation.heads == 0) continue;
      const int64_t head = i % operation.heads;
      const RowOperands one = head_of(slice.with_own_outputs(device()), head);
      test::run(device(), [&](Encoder& e) { return operation.encode(e, one, kFirst + row); });
      EXPECT_TRUE(same_bits(one, head_of(expected, head))) << "row " << row << " head " << head;
    }
  }

 private:
  static constexpr int64_t kFirst = 5;  // the first row's position

  static RowOperands row_of(const RowOperands& batch, int64_t row) {
    const auto only = [&](const View& view) { return must(view.slice(0, row, row + 1)); };
    return {.x = only(batch.x),
            .weight = batch.weight,
            .other = only(batch.other),
            .y = only(batch.y),
            .second = only(batch.second),
            .per_row = only(batch.per_row),
            .sums = batch.sums};
  }

  static RowOperands head_of(const RowOperands& row, int64_t head) {
    const auto only = [&](const View& view) { return must(view.slice(1, head, head + 1)); };
    RowOperands one = row;
    one.x = only(row.x);
    one.other = only(row.other);
    one.y = only(row.y);
    one.second = only(row.second);
    return one;
  }

  /// The same inputs and other outputs, in buffers of their own.
  [[nodiscard]] RowOperands copy_of(const RowOperands& row) const {
    const auto copied = [&](const View& view) {
      Buffer buffer = must(device().empty(view.dtype(), view.shape()));
      must(buffer.write(test::download_bytes(view)));
      return buffer;
    };
    RowOperands copy = row;
    copy.x = copied(row.x);
    copy.other = copied(row.other);
    return copy.with_own_outputs(device());
  }

  static bool same_bits(const RowOperands& a, const RowOperands& b) {
    return test::same_bytes(a.y, b.y) && test::same_bytes(a.second, b.second) &&
           test::same_bytes(a.per_row, b.per_row);
  }
};

TEST_P(BatchInvariance, ARowAloneGivesTheBitsItGivesInABatch) {
  for (const RowOperation& operation : test::row_operations()) {
    for (const int64_t dim : {2, 30, 64, 130, 1000}) check(operation, 9, dim);
    if (operation.heads == 0) continue;
    for (const int64_t dim : {128, 256}) check(operation, 3, dim);  // have code of their own
  }
}

// On a GPU several groups share such a row, and have several rows each.
TEST_P(BatchInvariance, ALongRowAloneGivesTheBitsItGivesInABatch) {
  const int64_t rows = on_gpu() ? test::as_many_on(device(), 200, 24) : 3;
  for (const RowOperation& operation : test::row_operations()) {
    if (operation.heads > 0) continue;
    for (const int64_t dim : {12288, 20001, 40000, 100003}) {
      check(operation, rows, dim);
    }
    if (!on_gpu()) continue;
    // 16-bit rows: alone in registers, or in stages by twice as many threads.
    for (const int64_t dim : {13000, 16384}) check(operation, rows, dim);
    for (const int64_t dim : {24001, 131072, 152064, 262143}) check(operation, rows, dim);
  }
}

class KernelTextInvariance : public BatchInvariance {};

// Rows begin at every place within a pack: lone elements, one SIMD-group and several.
TEST_P(KernelTextInvariance, ARowAloneGivesTheBitsItGivesInABatch) {
  for (const RowOperation& operation : test::row_operations()) {
    if (operation.heads > 0) continue;
    for (const int64_t dim : {131, 1003, 4099}) check(operation, 9, dim);
  }
}

INSTANTIATE_TEST_SUITE_P(Text, KernelTextInvariance,
                         testing::Combine(testing::Values(test::kText),
                                          testing::Values(DType::f32, DType::bf16)),
                         test::InstanceName());

INSTANTIATE_TEST_SUITE_P(EveryDevice, BatchInvariance,
                         testing::Combine(testing::ValuesIn(test::compared_devices()),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());
INSTANTIATE_TEST_SUITE_P(EveryPasses, BatchInvariance,
                         testing::Combine(testing::ValuesIn(test::tested_passes()),
                                          testing::ValuesIn(kFloatDTypes)),
                         test::InstanceName());

}  // namespace
}  // namespace norite
