// SPDX-License-Identifier: MIT
// Integer functions. One group of 32 threads.
#include <metal_stdlib>
using namespace metal;

kernel void integer(device float* out [[buffer(0)]], uint lane [[thread_index_in_threadgroup]]) {
  if (lane != 0) return;

  out[0] = abs(-7);
  out[1] = abs(short(-7));
  out[2] = abs(int4(-1, 2, -3, 4)).z;
  out[3] = absdiff(-2000000000, 2000000000);
  out[4] = absdiff(3u, 5u);
  out[5] = min(3, -4);
  out[6] = max(3u, 4u);
  out[7] = min(ushort(9), ushort(8));
  out[8] = max(int2(1, 5), int2(3, 4)).y;
  out[9] = min(int2(1, 5), 3).y;
  out[10] = clamp(9, 0, 5);
  out[11] = clamp(int2(-9, 9), 0, 5).x;
  out[12] = min3(3, 1, 2);
  out[13] = max3(3, 1, 2);
  out[14] = median3(3, 1, 2);
  out[15] = addsat(INT_MAX, 5) == INT_MAX;
  out[16] = addsat(INT_MIN, -5) == INT_MIN;
  out[17] = addsat(uchar(200), uchar(100));
  out[18] = addsat(char(-100), char(-100));
  out[19] = subsat(3u, 5u);
  out[20] = subsat(char(-100), char(100));
  out[21] = subsat(short(10), short(-5));
  out[22] = hadd(UINT_MAX, UINT_MAX) == UINT_MAX;
  out[23] = hadd(3, 4);
  out[24] = rhadd(3, 4);
  out[25] = hadd(-3, -4);
  out[26] = mulhi(0x80000000u, 6u);
  out[27] = mulhi(-5, 7);
  out[28] = mulhi(ushort(0xffff), ushort(0xffff));
  out[29] = mulhi(1ul << 63, 6ul);
  out[30] = mul24(-3, 5);
  out[31] = mad24(1000u, 1000u, 7u);
  out[32] = madhi(0x80000000u, 6u, 4u);
  out[33] = madsat(100000, 100000, 0) == INT_MAX;
  out[34] = madsat(-3, 4, 5);
  out[35] = popcount(0xf0f0u);
  out[36] = popcount(short(-1));
  out[37] = popcount(ulong(1) << 40);
  out[38] = clz(1u);
  out[39] = clz(0u);
  out[40] = clz(uchar(1));
  out[41] = clz(-1);
  out[42] = ctz(8u);
  out[43] = ctz(ushort(0));
  out[44] = reverse_bits(1u);
  out[45] = reverse_bits(uchar(0x12));
  out[46] = rotate(0x80000001u, 4u);
  out[47] = rotate(ushort(0x1234), ushort(4));
  out[48] = rotate(5u, 32u);
  out[49] = extract_bits(0xabcd1234u, 8u, 8u);
  out[50] = extract_bits(int(0x00000f00), 8u, 4u);
  out[51] = extract_bits(7u, 3u, 0u);
  out[52] = extract_bits(0xffffffffu, 0u, 32u) == UINT_MAX;
  out[53] = insert_bits(0xffffu, 0u, 4u, 8u);
  out[54] = insert_bits(uint2(0), uint2(3, 5), 4u, 2u).y;
  out[55] = popcount(uint4(1, 3, 7, 15)).w;

  out[56] = -7 / 2;
  out[57] = -7 % 3;
  out[58] = -7 >> 1;
  out[59] = uchar(200) + uchar(100);
  out[60] = uchar(uchar(200) + uchar(100));
  out[61] = short(40000);
  out[62] = uint(-1) == UINT_MAX;
  out[63] = sizeof(long);
  out[64] = numeric_limits<int>::max() == INT_MAX;
  out[65] = numeric_limits<short>::lowest();
  out[66] = numeric_limits<uchar>::digits;
}
