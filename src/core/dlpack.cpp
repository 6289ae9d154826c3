// SPDX-License-Identifier: MIT
#include "norite/dlpack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/device_state.hpp"
#include "core/dlpack_abi.hpp"

namespace norite {

namespace {

constexpr uint32_t kMajor = 1, kMinor = 0;

template <class... T>
tl::unexpected<Error> refuse(fmt::format_string<T...> format, T&&... values) {
  return fail(Code::invalid_argument,
              "from_dlpack: " + fmt::format(format, std::forward<T>(values)...));
}

DLDataType dlpack_dtype(DType dtype) {
  const auto bits = static_cast<uint8_t>(size_of(dtype) * 8);
  switch (dtype) {
    case DType::f32:
    case DType::f16:
      return {kDLFloat, bits, 1};
    case DType::bf16:
      return {kDLBfloat, bits, 1};
    case DType::i32:
    case DType::i16:
    case DType::i8:
      return {kDLInt, bits, 1};
    case DType::u32:
    case DType::u16:
    case DType::u8:
      break;
  }
  return {kDLUInt, bits, 1};
}

Result<DType> norite_dtype(const DLDataType& type) {
  for (const DType dtype : kAllDTypes) {
    const DLDataType one = dlpack_dtype(dtype);
    if (one.code == type.code && one.bits == type.bits && one.lanes == type.lanes) return dtype;
  }
  return fail(Code::unsupported,
              fmt::format("from_dlpack: elements of type code {}, {} bits and {} lanes, expected "
                          "f32, f16, bf16 or integers of up to 32 bits, one lane",
                          type.code, type.bits, type.lanes));
}

Result<void> check_device(const DeviceInfo& info, const DLDevice& device) {
  const bool host = device.device_type == kDLCPU || device.device_type == kDLCUDAHost;
  const bool gpu = (device.device_type == kDLCUDA || device.device_type == kDLCUDAManaged) &&
                   device.device_id == info.index;
  if (info.backend == "cpu" ? host : info.backend == "cuda" && gpu) return {};
  return refuse("memory of DLPack's device type {}, index {}, expected memory of {}",
                device.device_type, device.device_id, info.id);
}

Result<Shape> shape_of(const DLTensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > Shape::kMaxRank) {
    return refuse("{} axes, expected 0 to {}", tensor.ndim, Shape::kMaxRank);
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) {
    return refuse("the shape is null, expected extents");
  }
  const Shape shape(std::span<const int64_t>(tensor.shape, static_cast<size_t>(tensor.ndim)));
  for (const int64_t extent : shape) {
    if (extent < 1) return refuse("shape {}, expected extents >= 1", to_string(shape));
  }
  if (!shape.count()) {
    return refuse("shape {}, expected fewer than 2^63 elements", to_string(shape));
  }
  return shape;
}

Strides strides_of(const DLTensor& tensor, const Shape& shape) {
  if (tensor.strides == nullptr) return contiguous_strides(shape);
  Strides strides(std::span<const int64_t>(tensor.strides, static_cast<size_t>(tensor.ndim)));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) strides[axis] = 1;  // leads nowhere, whatever it is
  }
  return strides;
}

/// Bytes from the first element's start to the last one's end.
Result<int64_t> reach_of(DType dtype, const Shape& shape, const Strides& strides) {
  int64_t last = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (strides[axis] < 0) {
      return refuse("strides {}, expected none below 0", to_string(strides));
    }
    int64_t reach = 0;
    if (__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return refuse("shape {} with strides {}, expected fewer than 2^63 bytes", to_string(shape),
                    to_string(strides));
    }
  }
  int64_t bytes = 0;
  if (__builtin_mul_overflow(last, size_of(dtype), &bytes) ||
      __builtin_add_overflow(bytes, size_of(dtype), &bytes)) {
    return refuse("shape {} with strides {}, expected fewer than 2^63 bytes", to_string(shape),
                  to_string(strides));
  }
  return bytes;
}

/// Where the first element is.
Result<uintptr_t> first_element(const DLTensor& tensor, DType dtype) {
  uintptr_t address = 0;
  if (tensor.data == nullptr || __builtin_add_overflow(reinterpret_cast<uintptr_t>(tensor.data),
                                                       tensor.byte_offset, &address)) {
    return refuse("data {} with byte offset {}, expected memory", tensor.data, tensor.byte_offset);
  }
  if (address % static_cast<uintptr_t>(size_of(dtype)) != 0) {
    return refuse("the first element of {} lies at {:#x}, expected a multiple of {}", name(dtype),
                  address, size_of(dtype));
  }
  return address;
}

/// Calls the deleter once the memory is used no more. Until then nothing was taken over.
struct Owner {
  ~Owner() {
    if (tensor != nullptr && tensor->deleter != nullptr) tensor->deleter(tensor);
  }
  DLManagedTensorVersioned* tensor = nullptr;
};

/// An exported tensor with all that its pointers point to.
struct Exported {
  View view;
  std::array<int64_t, Shape::kMaxRank> shape, strides;
  DLManagedTensorVersioned tensor;
};

}  // namespace

Result<View> from_dlpack(const Device& device, DLManagedTensorVersioned* tensor,
                         ReadOnlyTensors read_only) {
  if (tensor == nullptr) return refuse("no tensor, expected one");
  // Of another major version nothing else may be read.
  if (tensor->version.major != kMajor) {
    return fail(Code::unsupported,
                fmt::format("from_dlpack: DLPack {}.{}, expected {}.x", tensor->version.major,
                            tensor->version.minor, kMajor));
  }
  if (read_only == ReadOnlyTensors::refuse && (tensor->flags & kDlpackReadOnly) != 0) {
    return refuse("the tensor is read-only, expected one to write to as well");
  }
  const DLTensor& contents = tensor->dl_tensor;
  NORITE_TRY(check_device(device.info(), contents.device));
  NORITE_TRY_ASSIGN(const DType dtype, norite_dtype(contents.dtype));
  NORITE_TRY_ASSIGN(const Shape shape, shape_of(contents));
  const Strides strides = strides_of(contents, shape);
  NORITE_TRY_ASSIGN(const int64_t reach, reach_of(dtype, shape, strides));
  NORITE_TRY_ASSIGN(const uintptr_t first, first_element(contents, dtype));

  // Where memory must begin at a multiple of something, what lies before the tensor belongs to the
  // same allocation, and the view does not reach it.
  const auto& backend = device.state()->shared_backend();
  const auto before = static_cast<int64_t>(first % backend->wrap_alignment());
  int64_t wanted = 0;
  if (__builtin_add_overflow(before, reach, &wanted)) {
    return refuse("{} bytes, expected fewer", reach);
  }
  NORITE_TRY_ASSIGN(const int64_t bytes, core::checked_buffer_bytes(*backend, DType::u8, {wanted}));
  const auto owner = std::make_shared<Owner>();
  NORITE_TRY_ASSIGN(auto storage,
                    backend->wrap(first - static_cast<uintptr_t>(before), bytes, owner));
  if ((tensor->flags & kDlpackReadOnly) != 0) storage->forbid_writing();
  NORITE_TRY_ASSIGN(View view, View::make(Buffer(std::move(storage), DType::u8, {bytes}), dtype,
                                          shape, strides, before));
  owner->tensor = tensor;
  return view;
}

Result<DLManagedTensorVersioned*> to_dlpack(const View& view) {
  if (!view) return fail(Code::invalid_argument, "to_dlpack: the view is empty, expected memory");
  const core::Storage& storage = *view.buffer().storage();
  const DeviceInfo& info = storage.backend().info();
  if (info.backend != "cpu" && info.backend != "cuda") {
    return fail(Code::unsupported,
                fmt::format("to_dlpack: memory of {}, expected a CPU or CUDA device", info.id));
  }
  auto exported = std::make_unique<Exported>();
  exported->view = view;
  std::ranges::copy(view.shape(), exported->shape.begin());
  std::ranges::copy(view.strides(), exported->strides.begin());
  exported->tensor = {
      .version = {kMajor, kMinor},
      .manager_ctx = exported.get(),
      .deleter =
          [](DLManagedTensorVersioned* self) { delete static_cast<Exported*>(self->manager_ctx); },
      .flags = storage.read_only() ? kDlpackReadOnly : 0,
      .dl_tensor = {
          .data = reinterpret_cast<void*>(storage.backend().address_of(storage) +
                                          static_cast<uintptr_t>(view.byte_offset())),
          .device = info.backend == "cpu" ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, info.index},
          .ndim = view.shape().rank(),
          .dtype = dlpack_dtype(view.dtype()),
          .shape = exported->shape.data(),
          .strides = exported->strides.data(),
          .byte_offset = 0}};
  return &exported.release()->tensor;
}

}  // namespace norite
