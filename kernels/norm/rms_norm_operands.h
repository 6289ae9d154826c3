// SPDX-License-Identifier: MIT
// For the parameter lists of the kernels of rms_norm: what all of them take.
    device const X_TYPE* x [[buffer(kRmsNormX)]],
#if HAS_WEIGHT
    device const WEIGHT_TYPE* weight [[buffer(kRmsNormWeight)]],
#endif
#if HAS_RESIDUAL
    device const X_TYPE* residual [[buffer(kRmsNormResidual)]],
    device X_TYPE* sum [[buffer(kRmsNormSum)]],
#endif
#if HAS_SCALE
    device const X_TYPE* scale [[buffer(kRmsNormScale)]],
#endif
#if HAS_Y
    device X_TYPE* y [[buffer(kRmsNormY)]],
#endif
#if HAS_RMS_INV
    device float* rms_inv [[buffer(kRmsNormRmsInv)]],
#endif
    constant RmsNormParams& params [[buffer(kRmsNormParams)]],
