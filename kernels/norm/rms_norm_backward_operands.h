// SPDX-License-Identifier: MIT
// For the parameter lists of the kernels of rms_norm_backward: what all of them take.
    device const X_TYPE* x [[buffer(kRmsNormBackwardX)]],
#if HAS_WEIGHT
    device const WEIGHT_TYPE* weight [[buffer(kRmsNormBackwardWeight)]],
#endif
    device const X_TYPE* dy [[buffer(kRmsNormBackwardDy)]],
#if HAS_RMS_INV
    device const float* rms_inv [[buffer(kRmsNormBackwardRmsInv)]],
#endif
#if HAS_DRESIDUAL
    device const X_TYPE* dresidual [[buffer(kRmsNormBackwardDresidual)]],
#endif
#if HAS_DX
    device X_TYPE* dx [[buffer(kRmsNormBackwardDx)]],
#endif
#if HAS_DW
    device float* dw_partial [[buffer(kRmsNormBackwardDwPartial)]],
#endif
    constant RmsNormBackwardParams& params [[buffer(kRmsNormBackwardParams)]],
