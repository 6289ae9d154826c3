#include <metal_stdlib>
using namespace metal;
#define HALF(x) ((x) / 2)
enum Index { kIn, kOut = 1 + kIn };
constant bool scaled [[function_constant(0)]];
constant float table[2] = {1.0, 2.0h};
struct Params { uint n; float2 xy; float f() const device { return 1; } float f() const thread { return 2; } };
template <typename T>
kernel void copy(device const T* in [[buffer(kIn)]], device T* out, constant Params& p [[buffer(2), function_constant(scaled)]],
                 threadgroup T* shared [[threadgroup(0)]], uint3 id [[thread_position_in_grid]]) {
  threadgroup float a[HALF(8)], b;
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = 0;
  while (id.x > 3) { float4 v; v.xy = v.zw; break; }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (is_function_constant_defined(scaled)) out[id.x] = in[id.x];
}
template [[host_name("copy_f32")]] [[kernel]] decltype(copy<float>) copy<float>;
template [[host_name("copy_f16")]] kernel void copy<half>(device const half*, device half*, constant Params&, threadgroup half*, uint3);
