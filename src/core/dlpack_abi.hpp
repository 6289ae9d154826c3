// SPDX-License-Identifier: MIT
// The structs of DLPack 1.x by which libraries exchange tensors. They are declared here because
// they are few and fixed within the major version, and because packaged headers are often older
// (Debian 12 has 0.6, without versions). Names and layout are DLPack's own.
#pragma once

#include <cstdint>

enum : int32_t { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 };  // device types
enum : uint8_t { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4 };           // type codes

inline constexpr uint64_t kDlpackReadOnly = 1;  // of the flags

struct DLPackVersion {
  uint32_t major;
  uint32_t minor;
};

struct DLDevice {
  int32_t device_type;
  int32_t device_id;
};

struct DLDataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; may be null where rows follow each other
  uint64_t byte_offset;
};

struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  DLTensor dl_tensor;
};
static_assert(sizeof(DLTensor) == 48 && sizeof(DLManagedTensorVersioned) == 80);
