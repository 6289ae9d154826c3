// SPDX-License-Identifier: MIT
// Matrices, stored by columns. One group of 32 threads.
#include <metal_stdlib>
using namespace metal;

kernel void matrices(device float* out [[buffer(0)]], uint lane [[thread_index_in_threadgroup]]) {
  if (lane != 0) return;

  float2x3 m = float2x3(float3(1, 2, 3), float3(4, 5, 6));
  float3x2 n = float3x2(1, 0, 2, 1, 0, 3);
  float4x4 s = float4x4(float4(2, 0, 1, 3), float4(1, 1, 0, 2),
                        float4(0, 3, 1, 1), float4(4, 1, 2, 1));
  out[0] = sizeof(float2x3);
  out[1] = sizeof(float3x2);
  out[2] = sizeof(half4x4);
  out[3] = m[1].y;
  out[4] = m[0][2];
  out[5] = n[2].y;
  out[6] = float3x3(2)[1][1];
  out[7] = float3x3(2)[1][0];
  out[8] = (m * float2(10, 1)).x;
  out[9] = (m * float2(10, 1)).z;
  out[10] = (float3(1, 10, 100) * m).x;
  out[11] = (float3(1, 10, 100) * m).y;
  out[12] = (m * n)[0].z;
  out[13] = (m * n)[1].x;
  out[14] = (m * n)[2].y;
  out[15] = (n * m)[1].y;
  out[16] = (s * s)[2].w;
  out[17] = (m + m)[1].z;
  out[18] = (m - m)[1].z;
  out[19] = (m * 2)[1].x;
  out[20] = (2 * m)[0].y;
  out[21] = (-m)[0].y;
  out[22] = transpose(m)[0].y;
  out[23] = transpose(m)[2].x;
  out[24] = determinant(float2x2(1, 2, 3, 4));
  out[25] = determinant(float3x3(float3(2, 0, 1), float3(1, 3, 2), float3(1, 1, 4)));
  out[26] = determinant(s);

  m[1] = float3(7, 8, 9);
  m[0].xy = m[1].zy;
  out[27] = m[1].x;
  out[28] = m[0].x;
  out[29] = m[0].z;
  m *= 0.5f;
  out[30] = m[0].x;
  m += m;
  out[31] = m[0].x;

  half4x4 h = half4x4(s);
  out[32] = h[3].x;
  out[33] = float4x4(h)[0].w;
  out[34] = (h * half4(1, 1, 1, 1)).w;
}
