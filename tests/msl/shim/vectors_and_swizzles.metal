// SPDX-License-Identifier: MIT
// Construction, conversion, operators and swizzles of vectors. One group of 32 threads.
#include <metal_stdlib>
using namespace metal;

constant float3 kWeights = float3(1, 2, 4) / 8.0f;

template <typename T>
T sum(vec<T, 4> v) {
  return v.x + v.y + v.z + v.w;
}

kernel void vectors_and_swizzles(device float* out [[buffer(0)]],
                                 uint lane [[thread_index_in_threadgroup]]) {
  if (lane != 0) return;

  float4 a = float4(1, 2, 3, 4);
  float2 b = {5, 6};
  out[0] = float4(b, 7, 8).y;
  out[1] = float4(b, 7, 8).z;
  out[2] = float4(7, b, 8).z;
  out[3] = float4(a.xyz, 9).w;
  out[4] = float4(b, a.zw).w;
  out[5] = float3(7, b).z;
  out[6] = float3(2).z;
  out[7] = kWeights.y;
  out[8] = a[2];
  out[9] = a.g + a.a;

  int4 truncated = int4(float4(1.9f, -1.9f, 2.5f, 1e3f));
  out[10] = truncated.x;
  out[11] = truncated.y;
  out[12] = truncated.w;
  uchar4 wrapped = uchar4(int4(256, 257, -1, 5));
  out[13] = wrapped.x;
  out[14] = wrapped.y;
  out[15] = wrapped.z;
  out[16] = sum(int4(1, 2, 3, 4));
  out[17] = sum((float4)half4(0.5h));
  out[18] = float4(bool4(true, false, true, true)).y;

  out[19] = (a + b.xyxy).w;
  out[20] = (a * 2).w;
  out[21] = (1 - a).w;
  out[22] = (a / float4(2)).x;
  out[23] = (-a).z;
  out[24] = (int4(7, 8, 9, 10) % 4).z;
  out[25] = (uint2(1, 2) << 3u).y;
  out[26] = (uint2(0xf0, 0x0f) >> uint2(4, 1)).y;
  out[27] = (ushort4(0xffff) + ushort4(2)).x;
  out[28] = (~uchar2(0x0f)).x;
  out[29] = (int2(12, 10) & int2(10, 7)).x;
  out[30] = (int2(12, 10) | int2(3, 5)).y;
  out[31] = (int2(12, 10) ^ 6).x;
  out[32] = all(a == float4(1, 2, 3, 4));
  out[33] = any(a > 3.5f);
  out[34] = all(a > 3.5f);
  out[35] = any(!(a < 5));
  out[36] = (a >= float4(2)).y && !(a >= float4(2)).x;
  out[37] = all(bool2(true, false) || bool2(false, true));
  out[38] = any(bool2(true, false) && bool2(false, true));

  float4 c = a;
  c += 1;
  c *= float4(1, 2, 3, 4);
  out[39] = c.w;
  c -= c;
  out[40] = c.w;
  uint2 steps = uint2(3, 4);
  steps <<= 2u;
  steps |= uint2(1, 0);
  out[41] = steps.x;
  out[42] = steps.y;
  int2 n = int2(1, 2);
  n++;
  --n;
  n += n;
  out[43] = n.y;

  out[44] = a.yx.x;
  out[45] = a.wzyx.x;
  out[46] = a.wzyx.w;
  out[47] = a.xxyy.y;
  out[48] = a.xxyy.z;
  out[49] = a.rgb.z;
  out[50] = a.bgra.x;
  out[51] = a.zw.y;
  out[52] = b.yxyx.z;
  out[53] = a.xyz.zyx.xy.y;
  out[54] = dot(a.xz, a.yw);
  out[55] = (a.xy + a.zw).y;

  float4 d = a;
  d.xy = d.yx;
  out[56] = d.x;
  out[57] = d.y;
  d.wzyx = float4(10, 20, 30, 40);
  out[58] = d.x;
  out[59] = d.w;
  d.xz *= 2;
  out[60] = d.x;
  out[61] = d.y;
  out[62] = d.z;
  d.rgb = float3(1, 2, 3);
  out[63] = d.z;
  out[64] = d.w;
  d.xyz += a.www;
  out[65] = d.y;
  d[1] = 100;
  d.w -= 1;
  out[66] = d.y;
  out[67] = d.w;

  out[68] = sizeof(float3);
  out[69] = sizeof(half3);
  out[70] = sizeof(uchar3);
  out[71] = sizeof(bool2);
  out[72] = alignof(float4);
  out[73] = alignof(ulong2);
}
