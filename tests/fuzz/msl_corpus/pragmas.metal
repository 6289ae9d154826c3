#pragma
#pragma unroll
kernel void k(device int* x [[buffer(0)]]) { _Pragma("unroll") for (int i = 0; i < 4; ++i) x[i] = i; }
