// SPDX-License-Identifier: MIT
// Every message that the backend sends: its selector and its exact signature, once. Those whose
// names begin with new, alloc, init or copy give their result with a hold.
//
// None returns a struct, which takes another way on processors of Intel's.
#pragma once

#include "backends/metal/objc.hpp"

namespace norite::metal {

struct MTLSize {
  NSUInteger width = 1, height = 1, depth = 1;
};

struct NSOperatingSystemVersion {
  NSInteger major = 0, minor = 0, patch = 0;
};

// Constants of Metal's, by their own names.
inline constexpr NSUInteger NSUTF8StringEncoding = 4;
inline constexpr NSUInteger NSISOLatin1StringEncoding = 5;
inline constexpr NSInteger MTLGPUFamilyApple7 = 1007;  // the M1's
inline constexpr NSUInteger MTLResourceStorageModeShared = 0;
inline constexpr NSUInteger MTLLanguageVersion3_1 = (3 << 16) + 1;
inline constexpr NSInteger MTLMathModeSafe = 0;
inline constexpr NSInteger MTLMathFloatingPointFunctionsPrecise = 1;
inline constexpr NSUInteger MTLPipelineOptionBindingInfo = 1;
inline constexpr NSUInteger MTLPipelineOptionBufferTypeInfo = 2;
inline constexpr NSInteger MTLBindingTypeBuffer = 0;
inline constexpr NSUInteger MTLDispatchTypeConcurrent = 1;
inline constexpr NSUInteger MTLBarrierScopeBuffers = 1;
inline constexpr NSUInteger MTLCommandBufferErrorOptionEncoderExecutionStatus = 1;
inline constexpr NSUInteger MTLCommandBufferStatusError = 5;
inline constexpr NSInteger MTLCommandEncoderErrorStateFaulted = 4;

enum MTLCommandBufferError : NSInteger {
  MTLCommandBufferErrorTimeout = 2,
  MTLCommandBufferErrorPageFault = 3,
  MTLCommandBufferErrorAccessRevoked = 4,
  MTLCommandBufferErrorNotPermitted = 7,
  MTLCommandBufferErrorOutOfMemory = 8,
  MTLCommandBufferErrorDeviceRemoved = 11,
};

enum MTLDataType : NSUInteger {
  MTLDataTypeFloat = 3,
  MTLDataTypeHalf = 16,
  MTLDataTypeInt = 29,
  MTLDataTypeUInt = 33,
  MTLDataTypeShort = 37,
  MTLDataTypeUShort = 41,
  MTLDataTypeChar = 45,
  MTLDataTypeUChar = 49,
  MTLDataTypeBool = 53,
  MTLDataTypeLong = 81,
  MTLDataTypeULong = 85,
};

namespace msg {

// clang-format off

// NSObject
inline constinit const Message<Id()> alloc("alloc");
inline constinit const Message<Id()> init("init");
inline constinit const Message<bool(Sel)> responds_to("respondsToSelector:");

// NSString, NSArray, NSDictionary, NSError, NSProcessInfo
inline constinit const Message<Id(const void*, NSUInteger, NSUInteger)> init_with_bytes("initWithBytes:length:encoding:");
inline constinit const Message<const char*()> utf8_string("UTF8String");
inline constinit const Message<NSUInteger()> count("count");
inline constinit const Message<Id(NSUInteger)> object_at_index("objectAtIndex:");
inline constinit const Message<Id(Id)> object_for_key("objectForKey:");
inline constinit const Message<NSInteger()> code("code");
inline constinit const Message<Id()> localized_description("localizedDescription");
inline constinit const Message<Id()> user_info("userInfo");
inline constinit const Message<Id()> process_info("processInfo");
inline constinit const Message<bool(NSOperatingSystemVersion)> is_at_least_version("isOperatingSystemAtLeastVersion:");
inline constinit const Message<Id()> version_string("operatingSystemVersionString");

// Labels, for those who capture the GPU's work
inline constinit const Message<void(Id)> set_label("setLabel:");
inline constinit const Message<Id()> label("label");

// MTLDevice
inline constinit const Message<Id()> device_name("name");
inline constinit const Message<bool(NSInteger)> supports_family("supportsFamily:");
inline constinit const Message<NSUInteger()> max_buffer_length("maxBufferLength");
inline constinit const Message<NSUInteger()> max_threadgroup_memory("maxThreadgroupMemoryLength");
inline constinit const Message<unsigned long long()> working_set_size("recommendedMaxWorkingSetSize");
inline constinit const Message<NSUInteger()> allocated_size("currentAllocatedSize");
inline constinit const Message<Id()> new_command_queue("newCommandQueue");
inline constinit const Message<Id(NSUInteger, NSUInteger)> new_buffer("newBufferWithLength:options:");
inline constinit const Message<Id(Id, Id, Id*)> new_library("newLibraryWithSource:options:error:");
inline constinit const Message<Id(Id, NSUInteger, Id*, Id*)> new_pipeline("newComputePipelineStateWithDescriptor:options:reflection:error:");
inline constinit const Message<Id(Id, Id*)> new_residency_set("newResidencySetWithDescriptor:error:");

// MTLBuffer
inline constinit const Message<void*()> contents("contents");

// MTLCompileOptions
inline constinit const Message<void(NSUInteger)> set_language_version("setLanguageVersion:");
inline constinit const Message<void(bool)> set_fast_math("setFastMathEnabled:");
inline constinit const Message<void(NSInteger)> set_math_mode("setMathMode:");
inline constinit const Message<void(NSInteger)> set_math_functions("setMathFloatingPointFunctions:");

// MTLLibrary and MTLFunctionConstantValues
inline constinit const Message<Id(Id)> new_function("newFunctionWithName:");
inline constinit const Message<Id(Id, Id, Id*)> new_function_with_constants("newFunctionWithName:constantValues:error:");
inline constinit const Message<void(const void*, NSUInteger, NSUInteger)> set_constant("setConstantValue:type:atIndex:");

// MTLComputePipelineDescriptor, MTLComputePipelineState and its reflection
inline constinit const Message<void(Id)> set_compute_function("setComputeFunction:");
inline constinit const Message<NSUInteger()> max_threads("maxTotalThreadsPerThreadgroup");
inline constinit const Message<NSUInteger()> execution_width("threadExecutionWidth");
inline constinit const Message<NSUInteger()> static_threadgroup_memory("staticThreadgroupMemoryLength");
inline constinit const Message<Id()> bindings("bindings");
inline constinit const Message<NSInteger()> binding_type("type");
inline constinit const Message<NSUInteger()> binding_index("index");
inline constinit const Message<NSUInteger()> buffer_data_size("bufferDataSize");

// MTLCommandQueue and MTLCommandBufferDescriptor
inline constinit const Message<Id(Id)> command_buffer("commandBufferWithDescriptor:");
inline constinit const Message<void(NSUInteger)> set_error_options("setErrorOptions:");
inline constinit const Message<void(bool)> set_retained_references("setRetainedReferences:");
inline constinit const Message<void(Id)> add_residency_set("addResidencySet:");

// MTLCommandBuffer and MTLCommandBufferEncoderInfo
inline constinit const Message<Id(NSUInteger)> compute_encoder("computeCommandEncoderWithDispatchType:");
inline constinit const Message<void()> commit("commit");
inline constinit const Message<void()> wait_until_completed("waitUntilCompleted");
inline constinit const Message<NSUInteger()> status("status");
inline constinit const Message<Id()> error("error");
inline constinit const Message<double()> gpu_start_time("GPUStartTime");
inline constinit const Message<double()> gpu_end_time("GPUEndTime");
inline constinit const Message<NSInteger()> error_state("errorState");
inline constinit const Message<Id()> debug_signposts("debugSignposts");

// MTLComputeCommandEncoder
inline constinit const Message<void(Id)> set_pipeline("setComputePipelineState:");
inline constinit const Message<void(Id, NSUInteger, NSUInteger)> set_buffer("setBuffer:offset:atIndex:");
inline constinit const Message<void(const void*, NSUInteger, NSUInteger)> set_bytes("setBytes:length:atIndex:");
inline constinit const Message<void(NSUInteger, NSUInteger)> set_threadgroup_memory("setThreadgroupMemoryLength:atIndex:");
inline constinit const Message<void(MTLSize, MTLSize)> dispatch_threadgroups("dispatchThreadgroups:threadsPerThreadgroup:");
inline constinit const Message<void(MTLSize, MTLSize)> dispatch_threads("dispatchThreads:threadsPerThreadgroup:");
inline constinit const Message<void(NSUInteger)> memory_barrier("memoryBarrierWithScope:");
inline constinit const Message<void(Id)> insert_debug_signpost("insertDebugSignpost:");
inline constinit const Message<void()> end_encoding("endEncoding");

// MTLResidencySet, which also takes `commit`
inline constinit const Message<void(Id)> add_allocation("addAllocation:");
inline constinit const Message<void(Id)> remove_allocation("removeAllocation:");

// clang-format on

}  // namespace msg

}  // namespace norite::metal
