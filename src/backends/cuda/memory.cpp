// SPDX-License-Identifier: MIT
#include "backends/cuda/memory.hpp"

#include <fmt/format.h>

#include "core/backend.hpp"

namespace norite::cuda {

namespace {

CUresult take(const Stream& stream, size_t bytes, bool pooled, CUdeviceptr& address) {
  return pooled ? stream.driver().cuMemAllocAsync(&address, bytes, stream.handle())
                : stream.driver().cuMemAlloc_v2(&address, bytes);
}

std::string request_text(const Stream& stream, int64_t bytes) {
  size_t free = 0, total = 0;
  stream.driver().cuMemGetInfo_v2(&free, &total);
  return fmt::format("{} bytes of memory, with {} of {} free", bytes, free, total);
}

}  // namespace

Result<std::shared_ptr<core::Storage>> DeviceMemory::allocate(
    std::shared_ptr<core::Backend> backend, std::shared_ptr<Stream> stream, int64_t bytes,
    bool pooled) {
  Context& context = stream->context();
  // A row that ends inside of a pack is read up to the pack's end.
  const size_t size = (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  CUdeviceptr address = 0;
  CUresult error = take(*stream, size, pooled, address);
  if (error == CUDA_ERROR_OUT_OF_MEMORY) {
    // What was freed comes back when the stream has passed that point.
    NORITE_TRY(stream->synchronise());
    error = take(*stream, size, pooled, address);
  }
  if (error != CUDA_SUCCESS) NORITE_TRY(context.check(error, request_text(*stream, bytes)));
  std::shared_ptr<DeviceMemory> memory(new DeviceMemory(std::move(backend), stream, bytes, address,
                                                        pooled ? Source::pool : Source::driver));
  NORITE_TRY(context.check(stream->driver().cuMemsetD8Async(address, 0, size, stream->handle()),
                           "clearing memory"));
  return memory;
}

Result<std::shared_ptr<core::Storage>> DeviceMemory::wrap(std::shared_ptr<core::Backend> backend,
                                                          std::shared_ptr<Stream> stream,
                                                          int64_t bytes, CUdeviceptr address,
                                                          std::shared_ptr<void> owner) {
  if (address == 0 || address % kAlignment != 0) {
    return fail(Code::invalid_argument,
                fmt::format("wrap: address {:#x}, expected a multiple of {}", address, kAlignment));
  }
  int device = -1;
  const CUresult error =
      stream->driver().cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address);
  if (error != CUDA_SUCCESS || device != stream->context().device()) {
    return fail(Code::invalid_argument,
                fmt::format("wrap: address {:#x} is elsewhere, expected memory of {}", address,
                            backend->info().id));
  }
  return std::shared_ptr<core::Storage>(new DeviceMemory(
      std::move(backend), std::move(stream), bytes, address, Source::caller, std::move(owner)));
}

DeviceMemory::~DeviceMemory() {
  if (source_ == Source::caller) return;
  const Current current(stream_->context());
  if (source_ == Source::pool) {
    stream_->driver().cuMemFreeAsync(address_, stream_->handle());
  } else {
    stream_->driver().cuMemFree_v2(address_);
  }
}

CUdeviceptr address_of(const core::Storage& storage) {
  return static_cast<const DeviceMemory&>(storage).address();
}

CUdeviceptr address_of(const View& view) {
  return address_of(*view.buffer().storage()) + static_cast<CUdeviceptr>(view.byte_offset());
}

}  // namespace norite::cuda
