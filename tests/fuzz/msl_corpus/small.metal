namespace n { kernel void k(device float* x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) { x[i] = 0x1p-3f + 1e3; } }
