// SPDX-License-Identifier: MIT
// All elementwise operations: INPUTS inputs in0, in1, ... give OUTPUTS outputs out0, ... by the
// statements in CHAIN, in f32, rounded once.
//
// A thread takes one pack of WIDTH neighbours of a row, or one element where rows are strided or
// not aligned, and reads an element before it writes it: an output may be an input. Tensors that
// lie evenly are ONE_ROW. Every operand crosses the memory bus once.

#include "common/pack.h"
#include "common/row_index.h"
#include "elementwise/functions.h"
#include "elementwise/params.h"

struct Results {
  float out0, out1;
};

/// What becomes of one element; inputs that are absent are zero.
METAL_FUNC Results chain(float in0, float in1, float in2, constant ElementwiseParams& params) {
  float out0, out1 = 0.0f;
  CHAIN
  return {out0, out1};
}

/// Where an operand's elements are that lie `column` elements into a row.
METAL_FUNC long offset(RowIndex row, long column, constant ElementwiseStrides& operand) {
  return row_offset(row, operand.rows) + column * operand.step;
}

[[kernel, max_total_threads_per_threadgroup(THREADS)]]
void elementwise(
    device const IN_TYPE* x0 [[buffer(kElementwiseIn0)]],
#if INPUTS > 1
    device const IN_TYPE* x1 [[buffer(kElementwiseIn1)]],
#endif
#if INPUTS > 2
    device const IN_TYPE* x2 [[buffer(kElementwiseIn2)]],
#endif
    device OUT_TYPE* y0 [[buffer(kElementwiseOut0)]],
#if OUTPUTS > 1
    device OUT_TYPE* y1 [[buffer(kElementwiseOut1)]],
#endif
    constant ElementwiseParams& params [[buffer(kElementwiseParams)]],
    uint group [[threadgroup_position_in_grid]],
    uint index [[thread_index_in_threadgroup]]) {
#if INPUTS <= 1
  device const IN_TYPE* x1 = nullptr;
#endif
#if INPUTS <= 2
  device const IN_TYPE* x2 = nullptr;
#endif
#if OUTPUTS <= 1
  device OUT_TYPE* y1 = nullptr;
#endif
  const long pack = long(group) * THREADS + index;
#if ONE_ROW
  const RowIndex at = {{0, 0, 0}};
  const long column = pack * WIDTH;
  if (column >= params.dim) return;
#else
  const long packs = (params.dim - 1) / WIDTH + 1;  // of a row
  const long row = pack / packs;
  const long column = (pack - row * packs) * WIDTH;
  if (row >= row_count(params.rows)) return;
  const RowIndex at = row_index(params.rows, row);
#endif
  x0 += offset(at, column, params.operands[kElementwiseIn0]);
  x1 += offset(at, column, params.operands[kElementwiseIn1]);
  x2 += offset(at, column, params.operands[kElementwiseIn2]);
  y0 += offset(at, column, params.operands[kElementwiseOut0]);
  y1 += offset(at, column, params.operands[kElementwiseOut1]);

  const long left = params.dim - column;
  if (left >= WIDTH) {
    const Floats<WIDTH> zero = splat<WIDTH>(0.0f);
    const Floats<WIDTH> in0 = load_floats<WIDTH>(x0);
    const Floats<WIDTH> in1 = INPUTS > 1 ? load_floats<WIDTH>(x1) : zero;
    const Floats<WIDTH> in2 = INPUTS > 2 ? load_floats<WIDTH>(x2) : zero;
    Floats<WIDTH> out0, out1;
#pragma unroll
    for (uint i = 0; i < WIDTH; ++i) {
      const Results results = chain(in0.at[i], in1.at[i], in2.at[i], params);
      out0.at[i] = results.out0;
      out1.at[i] = results.out1;
    }
    store_floats(out0, y0);
    if (OUTPUTS > 1) store_floats(out1, y1);
    return;
  }
  // The end of a row that is no whole pack.
  for (long i = 0; i < left; ++i) {
    const float in1 = INPUTS > 1 ? float(x1[i]) : 0.0f;
    const float in2 = INPUTS > 2 ? float(x2[i]) : 0.0f;
    const Results results = chain(float(x0[i]), in1, in2, params);
    y0[i] = OUT_TYPE(results.out0);
    if (OUTPUTS > 1) y1[i] = OUT_TYPE(results.out1);
  }
}
