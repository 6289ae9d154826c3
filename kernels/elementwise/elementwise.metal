// SPDX-License-Identifier: MIT
// All elementwise operations: INPUTS inputs in0, in1, ... give OUTPUTS outputs out0, ... by the
// statements in CHAIN, in f32, rounded once.
//
// A thread takes one pack of WIDTH neighbours of a row, or one element where rows are strided or
// not aligned, and reads all of it before it writes any: an output may be an input. Every operand
// crosses the memory bus once.

#include "common/pack.h"
#include "common/row_index.h"
#include "elementwise/functions.h"
#include "elementwise/params.h"

/// Where a thread's elements are: `count` of them from `column` on.
struct Place {
  RowIndex row;
  long column;
  uint count;

  long offset(constant ElementwiseStrides& operand) const {
    return row_offset(row, operand.rows) + column * operand.step;
  }
};

METAL_FUNC Place place_of(constant ElementwiseParams& params, long pack) {
  const long packs = (params.dim - 1) / WIDTH + 1;  // of a row
  const bool one_row = row_count(params.rows) == 1;
  const long row = one_row ? 0 : pack / packs;
  Place place;
  place.row = row_index(params.rows, row);
  place.column = (pack - row * packs) * WIDTH;
  const long left = row < row_count(params.rows) ? params.dim - place.column : 0;
  place.count = left <= 0 ? 0 : left < WIDTH ? uint(left) : WIDTH;
  return place;
}

template <typename T>
METAL_FUNC Floats<WIDTH> load_part(device const T* from, uint count) {
  if (count == WIDTH) return load_floats<WIDTH>(from);
  Floats<WIDTH> values = splat<WIDTH>(0.0f);
  for (uint i = 0; i < count; ++i) values.at[i] = float(from[i]);
  return values;
}

template <typename T>
METAL_FUNC void store_part(Floats<WIDTH> values, device T* to, uint count) {
  if (count == WIDTH) return store_floats(values, to);
  for (uint i = 0; i < count; ++i) to[i] = T(values.at[i]);
}

#define LOAD(n) load_part(x##n + place.offset(params.operands[kElementwiseIn##n]), place.count)
#define STORE(n) \
  store_part(result##n, y##n + place.offset(params.operands[kElementwiseOut##n]), place.count)

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
  const Place place = place_of(params, long(group) * THREADS + index);
  if (place.count == 0) return;

  const Floats<WIDTH> values0 = LOAD(0);
#if INPUTS > 1
  const Floats<WIDTH> values1 = LOAD(1);
#endif
#if INPUTS > 2
  const Floats<WIDTH> values2 = LOAD(2);
#endif
  Floats<WIDTH> result0;
#if OUTPUTS > 1
  Floats<WIDTH> result1;
#endif
#pragma unroll
  for (uint i = 0; i < WIDTH; ++i) {
    const float in0 = values0.at[i];
#if INPUTS > 1
    const float in1 = values1.at[i];
#endif
#if INPUTS > 2
    const float in2 = values2.at[i];
#endif
    float out0;
#if OUTPUTS > 1
    float out1;
#endif
    CHAIN
    result0.at[i] = out0;
#if OUTPUTS > 1
    result1.at[i] = out1;
#endif
  }
  STORE(0);
#if OUTPUTS > 1
  STORE(1);
#endif
}
