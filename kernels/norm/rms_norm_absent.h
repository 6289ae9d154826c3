// SPDX-License-Identifier: MIT
// For the bodies of the kernels of rms_norm: operands that are not there.
#if !HAS_WEIGHT
  device const WEIGHT_TYPE* weight = nullptr;
#endif
#if !HAS_RESIDUAL
  device const X_TYPE* residual = nullptr;
  device X_TYPE* sum = nullptr;
#endif
#if !HAS_SCALE
  device const X_TYPE* scale = nullptr;
#endif
#if !HAS_Y
  device X_TYPE* y = nullptr;
#endif
#if !HAS_RMS_INV
  device float* rms_inv = nullptr;
#endif
