// SPDX-License-Identifier: MIT
// half and bfloat: every operation rounds to nearest even. One group of 32 threads.
#include <metal_stdlib>
using namespace metal;

template <typename T>
T round_trip(float x) {
  return T(x);
}

kernel void half_bfloat(device float* out [[buffer(0)]],
                        uint lane [[thread_index_in_threadgroup]]) {
  if (lane != 0) return;
  // Read from memory, so that nothing is computed by the compiler.
  threadgroup float values[8];
  values[0] = 1;
  values[1] = 2049;
  values[2] = 65519;
  values[3] = 65520;
  values[4] = 1e-7f;
  values[5] = 3.14159265f;
  values[6] = 257;
  values[7] = NAN;

  out[0] = round_trip<half>(values[1]);
  out[1] = round_trip<half>(values[1] + 2);
  out[2] = round_trip<half>(values[2]);
  out[3] = round_trip<half>(values[3]);
  out[4] = round_trip<half>(-values[3]);
  out[5] = round_trip<half>(values[4]);
  out[6] = round_trip<half>(values[4] * 0.25f);
  out[7] = round_trip<half>(values[4] * 0.3f);
  out[8] = round_trip<half>(values[5]);
  out[9] = isnan(round_trip<half>(values[7]));
  out[10] = round_trip<bfloat>(values[6]);
  out[11] = round_trip<bfloat>(values[6] + 2);
  out[12] = round_trip<bfloat>(values[5]);
  out[13] = round_trip<bfloat>(values[4]);
  out[14] = round_trip<bfloat>(3.4e38f * values[0]);
  out[15] = isnan(round_trip<bfloat>(values[7]));

  half h = half(values[0]) / 3.0h;
  out[16] = h;
  out[17] = h * h;
  out[18] = h * h + h;
  out[19] = h * 3.0h - 1.0h;
  out[20] = h + 0.5f;
  out[21] = half(values[1]) + 1.0h;
  out[22] = h * 2;
  out[23] = -h;
  out[24] = h > 0.333h;

  bfloat b = bfloat(values[0]) / bfloat(3.0f);
  out[25] = b;
  out[26] = b * b;
  out[27] = b * b + b;
  out[28] = b + 0.5f;
  out[29] = bfloat(values[6]) + bfloat(1.0f);
  out[30] = b < bfloat(0.5f);

  half4 v = half4(h) * half4(1, 2, 3, 4) + half(0.25h);
  out[31] = v.z;
  out[32] = v.w;
  bfloat4 w = bfloat4(float4(b)) * bfloat4(3.0f);
  out[33] = w.x;
  out[34] = float4(w).y;
  out[35] = dot(half2(h), half2(3.0h));

  out[36] = exp(h);
  out[37] = exp(b);
  out[38] = sqrt(half(values[6]));
  out[39] = rsqrt(h);
  out[40] = max(h, 0.25h);
  out[41] = min(b, bfloat(0.25f));
  out[42] = fmax(half(values[7]), h);
  out[43] = clamp(v, 0.5h, 1.0h).x;
  out[44] = clamp(v, 0.5h, 1.0h).w;
  out[45] = fma(h, h, h);
  out[46] = floor(half(values[5]));
  out[47] = nextafter(1.0h, 2.0h);
  out[48] = nextafter(bfloat(1.0f), bfloat(0.0f));
  out[49] = fract(half(-1e-4f));
  out[50] = select(h, 2.0h, true);

  out[51] = HALF_MAX;
  out[52] = HALF_MIN;
  out[53] = HALF_EPSILON;
  out[54] = numeric_limits<half>::infinity();
  out[55] = numeric_limits<half>::lowest();
  out[56] = numeric_limits<bfloat>::max();
  out[57] = numeric_limits<bfloat>::epsilon();
  out[58] = M_PI_H;
  out[59] = sizeof(half) + sizeof(bfloat);
  out[60] = is_floating_point_v<half> && is_floating_point_v<bfloat>;
  out[61] = is_same_v<decltype(h * 2), half> && is_same_v<decltype(h * 2.0f), float>;
}
