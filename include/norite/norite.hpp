// SPDX-License-Identifier: MIT
// Devices, kernels, graphs and every operation, in one include. Beside it: cuda.hpp and dlpack.hpp
// for memory of other libraries, npy.hpp and safetensors.hpp for files.
#pragma once

#include <norite/device.hpp>
#include <norite/float16.hpp>
#include <norite/graph.hpp>
#include <norite/ops/add.hpp>
#include <norite/ops/copy.hpp>
#include <norite/ops/flash_attn_train_bwd_compute_d.hpp>
#include <norite/ops/fused_head_norm_rope.hpp>
#include <norite/ops/fused_head_norm_rope_backward.hpp>
#include <norite/ops/gelu.hpp>
#include <norite/ops/mul.hpp>
#include <norite/ops/residual_rms_norm.hpp>
#include <norite/ops/rms_norm.hpp>
#include <norite/ops/rms_norm_backward.hpp>
#include <norite/ops/rms_norm_mul.hpp>
#include <norite/ops/rope.hpp>
#include <norite/ops/scale.hpp>
#include <norite/ops/silu.hpp>
#include <norite/ops/softcap.hpp>
#include <norite/version.hpp>
