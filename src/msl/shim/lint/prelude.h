// SPDX-License-Identifier: MIT
// In front of the library and of a kernel's text when clang reads both as C++ for OpenCL, which
// tells address spaces apart. The text is only looked at.
#pragma once
#pragma OPENCL EXTENSION all : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

// `constant` is no __constant: that is outside of the generic space, so that nothing of a class
// type could be copied out of it. The spaces of host and device memory convert to the generic one,
// and not to each other.
#define norite_device __attribute__((opencl_global_device))
#define norite_constant __attribute__((opencl_global_host))
#define norite_threadgroup __local
#define norite_thread __private
#define norite_threadgroup_imageblock __local
#define norite_object_data __local
#define norite_ray_data __private

// Words of OpenCL that are plain names in Metal.
#define atomic_bool norite_atomic_bool
#define atomic_double norite_atomic_double
#define atomic_flag norite_atomic_flag
#define atomic_float norite_atomic_float
#define atomic_int norite_atomic_int
#define atomic_long norite_atomic_long
#define atomic_uint norite_atomic_uint
#define atomic_ulong norite_atomic_ulong
#define event_t norite_event_t
#define generic norite_generic
#define global norite_global
#define half norite_half
#define image2d_t norite_image2d_t
#define local norite_local
#define pipe norite_pipe
#define queue_t norite_queue_t
#define read_only norite_read_only
#define read_write norite_read_write
#define sampler_t norite_sampler_t
#define vec_step norite_vec_step
#define write_only norite_write_only

namespace norite_msl {
struct ThreadgroupVariable;
}

namespace norite_lint {
template <class T>
norite_threadgroup T& threadgroup_variable(norite_msl::ThreadgroupVariable& variable);
}
