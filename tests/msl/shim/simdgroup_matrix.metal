// SPDX-License-Identifier: MIT
// 8x8 matrices spread over a simdgroup. One group of 32 threads.
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

kernel void simdgroup_matrices(device float* out [[buffer(0)]],
                               ushort lane [[thread_index_in_simdgroup]]) {
  threadgroup float a_values[8 * 16];
  threadgroup half b_values[8 * 8];
  threadgroup bfloat c_values[8 * 8];
  threadgroup float result[16 * 16];
  for (int i = lane; i < 64; i += 32) {
    const int row = i / 8;
    const int column = i % 8;
    a_values[row * 16 + column + 8] = (row * 3 + column * 5) % 7 - 3;
    b_values[i] = (row * 2 + column * 3) % 5 - 2;
    c_values[i] = bfloat(float((row * 2 + column * 3) % 5 - 2));
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  simdgroup_float8x8 a;
  simdgroup_half8x8 b;
  simdgroup_bfloat8x8 c;
  simdgroup_load(a, a_values, 16, ulong2(8, 0));
  simdgroup_load(b, b_values);
  simdgroup_load(c, c_values, 8, 0, true);
  out[0 + lane] = a.thread_elements()[0];
  out[32 + lane] = a.thread_elements()[1];
  out[64 + lane] = c.thread_elements()[1];

  simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8>(0.5f);
  simdgroup_multiply_accumulate(sum, a, b, sum);
  simdgroup_store(sum, result, 16, ulong2(8, 8));
  simdgroup_barrier(mem_flags::mem_threadgroup);
  out[96 + lane] = result[(8 + lane / 8) * 16 + 8 + lane % 8];
  out[128 + lane] = result[(12 + lane / 8) * 16 + 8 + lane % 8];

  simdgroup_float8x8 product;
  simdgroup_float8x8 transposed;
  simdgroup_load(transposed, a_values + 8, 16, 0, true);
  simdgroup_multiply(product, transposed, b);
  simdgroup_barrier(mem_flags::mem_threadgroup);
  simdgroup_store(product, result, 8, 0, true);
  simdgroup_barrier(mem_flags::mem_threadgroup);
  out[160 + lane] = result[lane];
  out[192 + lane] = result[32 + lane];

  simdgroup_half8x8 halved = simdgroup_half8x8(0.5h);
  simdgroup_multiply(product, a, halved);
  out[224 + lane] = product.thread_elements()[0];
  simdgroup_multiply_accumulate(product, a, c, product);
  out[256 + lane] = product.thread_elements()[1];
}
