// SPDX-License-Identifier: MIT
// Everything that is used of NVIDIA's driver API and of NVRTC, declared here so that no CUDA has to
// be installed where this is built. Names and values are NVIDIA's; the symbols are those that
// libraries of CUDA 12 and 13 export.
#pragma once

#include <cstddef>

namespace norite::cuda {

// --- The driver ---------------------------------------------------------------------------------

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphNode = struct CUgraphNode_st*;

constexpr CUresult CUDA_SUCCESS = 0;
constexpr CUresult CUDA_ERROR_INVALID_VALUE = 1;
constexpr CUresult CUDA_ERROR_OUT_OF_MEMORY = 2;
constexpr CUresult CUDA_ERROR_NO_DEVICE = 100;
constexpr CUresult CUDA_ERROR_INVALID_IMAGE = 200;
constexpr CUresult CUDA_ERROR_INVALID_CONTEXT = 201;
constexpr CUresult CUDA_ERROR_NO_BINARY_FOR_GPU = 209;
constexpr CUresult CUDA_ERROR_ECC_UNCORRECTABLE = 214;
constexpr CUresult CUDA_ERROR_INVALID_PTX = 218;
constexpr CUresult CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222;
constexpr CUresult CUDA_ERROR_ILLEGAL_ADDRESS = 700;
constexpr CUresult CUDA_ERROR_LAUNCH_TIMEOUT = 702;
constexpr CUresult CUDA_ERROR_CONTEXT_IS_DESTROYED = 709;
constexpr CUresult CUDA_ERROR_ASSERT = 710;
constexpr CUresult CUDA_ERROR_HARDWARE_STACK_ERROR = 714;
constexpr CUresult CUDA_ERROR_MISALIGNED_ADDRESS = 716;
constexpr CUresult CUDA_ERROR_LAUNCH_FAILED = 719;
constexpr CUresult CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720;
constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904;
constexpr CUresult CUDA_ERROR_UNKNOWN = 999;

constexpr int CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1;
constexpr int CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
constexpr int CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
constexpr int CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95;
constexpr int CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
constexpr int CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115;

constexpr int CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0;
constexpr int CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1;
constexpr int CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;

constexpr int CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9;

constexpr unsigned CU_STREAM_NON_BLOCKING = 1;
constexpr int CU_STREAM_CAPTURE_MODE_RELAXED = 2;
constexpr unsigned CU_EVENT_DEFAULT = 0;
constexpr unsigned CU_EVENT_BLOCKING_SYNC = 1;
constexpr unsigned CU_EVENT_DISABLE_TIMING = 2;

constexpr int CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2;
constexpr int CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6;

struct CUlaunchAttribute {
  int id;
  alignas(8) int value;  // the first member of a union of 64 bytes
  char rest[60];
};
static_assert(sizeof(CUlaunchAttribute) == 72);

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

struct CUgraphExecUpdateResultInfo {
  int result;
  CUgraphNode errorNode, errorFromNode;
};

/// X(symbol, parameters): each returns CUresult.
#define NORITE_CUDA_DRIVER_FUNCTIONS(X)                                                            \
  X(cuInit, (unsigned flags))                                                                      \
  X(cuDriverGetVersion, (int* version))                                                            \
  X(cuGetErrorName, (CUresult error, const char** name))                                           \
  X(cuGetErrorString, (CUresult error, const char** text))                                         \
  X(cuDeviceGetCount, (int* count))                                                                \
  X(cuDeviceGet, (CUdevice * device, int ordinal))                                                 \
  X(cuDeviceGetName, (char* name, int bytes, CUdevice device))                                     \
  X(cuDeviceTotalMem_v2, (size_t* bytes, CUdevice device))                                         \
  X(cuDeviceGetAttribute, (int* value, int attribute, CUdevice device))                            \
  X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                              \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice device))                                               \
  X(cuCtxPushCurrent_v2, (CUcontext context))                                                      \
  X(cuCtxPopCurrent_v2, (CUcontext * context))                                                     \
  X(cuMemGetInfo_v2, (size_t* free, size_t* total))                                                \
  X(cuMemAlloc_v2, (CUdeviceptr * memory, size_t bytes))                                           \
  X(cuMemFree_v2, (CUdeviceptr memory))                                                            \
  X(cuMemAllocAsync, (CUdeviceptr * memory, size_t bytes, CUstream stream))                        \
  X(cuMemFreeAsync, (CUdeviceptr memory, CUstream stream))                                         \
  X(cuPointerGetAttribute, (void* value, int attribute, CUdeviceptr memory))                       \
  X(cuMemAllocHost_v2, (void** memory, size_t bytes))                                              \
  X(cuMemFreeHost, (void* memory))                                                                 \
  X(cuMemsetD8Async, (CUdeviceptr target, unsigned char value, size_t bytes, CUstream stream))     \
  X(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, size_t bytes, CUstream stream))       \
  X(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t bytes, CUstream stream))             \
  X(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t bytes))                                   \
  X(cuStreamCreate, (CUstream * stream, unsigned flags))                                           \
  X(cuStreamDestroy_v2, (CUstream stream))                                                         \
  X(cuStreamSynchronize, (CUstream stream))                                                        \
  X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                           \
  X(cuEventCreate, (CUevent * event, unsigned flags))                                              \
  X(cuEventDestroy_v2, (CUevent event))                                                            \
  X(cuEventRecord, (CUevent event, CUstream stream))                                               \
  X(cuEventSynchronize, (CUevent event))                                                           \
  X(cuEventElapsedTime, (float* milliseconds, CUevent start, CUevent end))                         \
  X(cuModuleLoadData, (CUmodule * module, const void* image))                                      \
  X(cuModuleUnload, (CUmodule module))                                                             \
  X(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))               \
  X(cuModuleGetGlobal_v2, (CUdeviceptr * memory, size_t* bytes, CUmodule module, const char*))     \
  X(cuFuncGetAttribute, (int* value, int attribute, CUfunction function))                          \
  X(cuFuncSetAttribute, (CUfunction function, int attribute, int value))                           \
  X(cuLaunchKernelEx,                                                                              \
    (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra))          \
  X(cuStreamBeginCapture_v2, (CUstream stream, int mode))                                          \
  X(cuStreamEndCapture, (CUstream stream, CUgraph * graph))                                        \
  X(cuGraphDestroy, (CUgraph graph))                                                               \
  X(cuGraphInstantiateWithFlags, (CUgraphExec * exec, CUgraph graph, unsigned long long flags))    \
  X(cuGraphExecUpdate_v2, (CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo * result)) \
  X(cuGraphExecDestroy, (CUgraphExec exec))                                                        \
  X(cuGraphLaunch, (CUgraphExec exec, CUstream stream))

// --- NVRTC --------------------------------------------------------------------------------------

using nvrtcResult = int;
using nvrtcProgram = struct _nvrtcProgram*;

constexpr nvrtcResult NVRTC_SUCCESS = 0;
constexpr nvrtcResult NVRTC_ERROR_OUT_OF_MEMORY = 1;
constexpr nvrtcResult NVRTC_ERROR_COMPILATION = 6;

/// X(symbol, parameters): each returns nvrtcResult.
#define NORITE_CUDA_NVRTC_FUNCTIONS(X)                                                            \
  X(nvrtcVersion, (int* major, int* minor))                                                       \
  X(nvrtcGetNumSupportedArchs, (int* count))                                                      \
  X(nvrtcGetSupportedArchs, (int* architectures))                                                 \
  X(nvrtcCreateProgram, (nvrtcProgram * program, const char* text, const char* name,              \
                         int header_count, const char* const* headers, const char* const* names)) \
  X(nvrtcDestroyProgram, (nvrtcProgram * program))                                                \
  X(nvrtcCompileProgram, (nvrtcProgram program, int option_count, const char* const* options))    \
  X(nvrtcGetProgramLogSize, (nvrtcProgram program, size_t* bytes))                                \
  X(nvrtcGetProgramLog, (nvrtcProgram program, char* log))                                        \
  X(nvrtcGetCUBINSize, (nvrtcProgram program, size_t* bytes))                                     \
  X(nvrtcGetCUBIN, (nvrtcProgram program, char* image))                                           \
  X(nvrtcGetPTXSize, (nvrtcProgram program, size_t* bytes))                                       \
  X(nvrtcGetPTX, (nvrtcProgram program, char* image))

}  // namespace norite::cuda
