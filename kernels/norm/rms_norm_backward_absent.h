// SPDX-License-Identifier: MIT
// For the bodies of the kernels of rms_norm_backward: operands that are not there.
#if !HAS_WEIGHT
  device const WEIGHT_TYPE* weight = nullptr;
#endif
#if !HAS_RMS_INV
  device const float* rms_inv = nullptr;
#endif
#if !HAS_DRESIDUAL
  device const X_TYPE* dresidual = nullptr;
#endif
#if !HAS_DX
  device X_TYPE* dx = nullptr;
#endif
#if !HAS_DW
  device float* dw_partial = nullptr;
#endif
