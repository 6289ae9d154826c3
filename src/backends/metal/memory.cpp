// SPDX-License-Identifier: MIT
#include "backends/metal/memory.hpp"

#include <fmt/format.h>

#include <cstring>

#include "backends/metal/foundation.hpp"

namespace norite::metal {

// Metal orders command buffers by the buffers that they share, as it does by default: it has to
// know them all. Inside of a command buffer the barriers are ours.
Result<Object> new_shared_buffer(Id device, int64_t bytes) {
  auto buffer = Object::adopt(
      msg::new_buffer(device, static_cast<NSUInteger>(bytes), MTLResourceStorageModeShared));
  if (buffer != nullptr) return buffer;
  return fail(Code::out_of_memory,
              fmt::format("metal: no memory for {} bytes, with {} of {} taken", bytes,
                          msg::allocated_size(device), msg::working_set_size(device)));
}

Result<std::shared_ptr<core::Storage>> SharedMemory::allocate(
    std::shared_ptr<core::Backend> backend, Id device, std::shared_ptr<Residency> residency,
    int64_t bytes) {
  NORITE_TRY_ASSIGN(Object buffer, new_shared_buffer(device, bytes));
  auto* const data = static_cast<std::byte*>(msg::contents(buffer));
  std::memset(data, 0, static_cast<size_t>(bytes));  // Metal does not promise zeros
  residency->add(buffer);
  return std::shared_ptr<SharedMemory>(
      new SharedMemory(std::move(backend), std::move(residency), std::move(buffer), bytes, data));
}

SharedMemory::~SharedMemory() {
  const AutoreleasePool pool;
  residency_->remove(buffer_);
}

}  // namespace norite::metal
