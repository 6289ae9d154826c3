// SPDX-License-Identifier: MIT
// Packed vectors, as_type, and normalised integers in a word. One group of 32 threads.
#include <metal_stdlib>
using namespace metal;

struct Record {
  packed_float3 position;
  float weight;
  packed_half4 colour;
};

kernel void packed(device float* out [[buffer(0)]], uint lane [[thread_index_in_threadgroup]]) {
  if (lane != 0) return;

  out[0] = sizeof(packed_float3);
  out[1] = alignof(packed_float3);
  out[2] = sizeof(packed_half3);
  out[3] = alignof(packed_half3);
  out[4] = sizeof(packed_uchar4);
  out[5] = alignof(packed_uchar4);
  out[6] = sizeof(Record);

  Record r;
  r.position = float3(1, 2, 3);
  r.weight = 4;
  r.colour = half4(float4(0.5f, 1, 2, 4));
  float3 p = r.position;
  out[7] = p.z;
  out[8] = (r.position * r.weight).y;
  out[9] = (r.position + r.position).z;
  out[10] = float4(r.position, r.weight).w;
  out[11] = float4(half4(r.colour)).w;
  out[12] = r.position.zyx.x;
  out[13] = length(r.position * float3(0, 0, 2));
  r.position.y = 7;
  r.position.xz = float2(8, 9);
  r.position[0] += 1;
  r.position *= 2;
  out[14] = r.position.x;
  out[15] = r.position.y;
  out[16] = r.position.z;
  out[17] = packed_int2(3, 4).y;

  out[18] = as_type<uint>(1.0f);
  out[19] = as_type<float>(0x40490fdbu);
  out[20] = as_type<ushort>(half(1.0h));
  out[21] = as_type<half>(ushort(0xc000));
  out[22] = as_type<uchar4>(0x04030201u).z;
  out[23] = as_type<half2>(0x40003c00u).y;
  out[24] = as_type<uint>(ushort2(0x1234, 0x5678));
  out[25] = as_type<ulong>(uint2(7, 1)) == 0x100000007ul;

  out[26] = unpack_unorm4x8_to_float(0x00ff8033u).x;
  out[27] = unpack_unorm4x8_to_float(0x00ff8033u).y;
  out[28] = unpack_unorm4x8_to_float(0x00ff8033u).z;
  out[29] = unpack_unorm4x8_to_float(0x00ff8033u).w;
  out[30] = unpack_snorm4x8_to_float(0x80818140u).x;
  out[31] = unpack_snorm4x8_to_float(0x80818140u).y;
  out[32] = unpack_snorm4x8_to_float(0x80818140u).w;
  out[33] = unpack_unorm2x16_to_float(0xffff4000u).x;
  out[34] = unpack_snorm2x16_to_float(0x80014000u).x;
  out[35] = unpack_snorm2x16_to_float(0x80014000u).y;
  out[36] = unpack_unorm10a2_to_float(0x400003ffu).x;
  out[37] = unpack_unorm10a2_to_float(0x400003ffu).w;
  out[38] = unpack_unorm565_to_float(0xf800).x;
  out[39] = unpack_unorm565_to_float(0x0420).y;
  out[40] = unpack_unorm4x8_to_half(0x80808080u).x;
  out[41] = pack_float_to_unorm4x8(float4(0, 1, 0.5f, 2));
  out[42] = pack_float_to_snorm4x8(float4(1, -1, 0, -2)) == 0x8100817fu;
  out[43] = pack_float_to_unorm2x16(float2(1, 0.25f));
  out[44] = pack_float_to_snorm2x16(float2(-1, 1)) == 0x7fff8001u;
  out[45] = pack_float_to_unorm565(float3(1, 0, 1));
  out[46] = pack_half_to_unorm4x8(half4(1.0h)) == 0xffffffffu;
}
