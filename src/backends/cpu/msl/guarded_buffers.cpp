// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/guarded_buffers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace norite::cpu::msl {

namespace {

// Address space alone: nothing in the gaps is ever touched.
constexpr uint64_t kGap = uint64_t{16} << 20;
// Copies keep the alignment of their originals up to this.
constexpr uint64_t kAlignment = 4096;

}  // namespace

GuardedBuffers::~GuardedBuffers() {
  if (memory_ != nullptr) ::munmap(memory_, memory_bytes_);
}

Result<void> GuardedBuffers::take_in(std::vector<BufferBinding>& buffers) {
  std::vector<BufferBinding*> sorted;
  for (BufferBinding& buffer : buffers) sorted.push_back(&buffer);
  std::sort(sorted.begin(), sorted.end(), [](const BufferBinding* a, const BufferBinding* b) {
    return reinterpret_cast<uintptr_t>(a->data) < reinterpret_cast<uintptr_t>(b->data);
  });

  // Offsets of the copies. A buffer that begins before the end of those so far overlaps them, and
  // keeps its distance.
  std::vector<uint64_t> offsets;
  uint64_t next = kGap;
  uintptr_t end = 0;
  for (const BufferBinding* buffer : sorted) {
    const auto begin = reinterpret_cast<uintptr_t>(buffer->data);
    uint64_t offset = 0;
    if (begin < end) {
      offset =
          offsets.back() + (begin - reinterpret_cast<uintptr_t>(sorted[offsets.size() - 1]->data));
    } else {
      offset = (next + kAlignment - 1) / kAlignment * kAlignment + begin % kAlignment;
    }
    offsets.push_back(offset);
    end = std::max<uintptr_t>(end, begin + buffer->bytes);
    next = std::max(next, offset + buffer->bytes + kGap);
  }

  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
  void* memory = ::mmap(nullptr, next, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return fail(Code::out_of_memory, "no memory for checked buffers");
  memory_ = static_cast<std::byte*>(memory);
  memory_bytes_ = next;
  for (size_t i = 0; i < sorted.size(); ++i) {
    BufferBinding& buffer = *sorted[i];
    const Copy& copy =
        copies_.emplace_back(Copy{static_cast<std::byte*>(buffer.data), memory_ + offsets[i],
                                  buffer.bytes, buffer.read_only});
    if (copy.bytes > 0) std::memcpy(copy.copy, copy.original, copy.bytes);
    buffer.data = copy.copy;
  }
  return {};
}

void GuardedBuffers::hand_back() const {
  for (const Copy& copy : copies_) {
    if (!copy.read_only && copy.bytes > 0) std::memcpy(copy.original, copy.copy, copy.bytes);
  }
}

}  // namespace norite::cpu::msl
