// SPDX-License-Identifier: MIT
#include "backends/cpu/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace norite::cpu {

namespace {

constexpr int64_t kAlignment = 64;  // a cache line, and the widest vector
// A load waits for an earlier store whose address has the same last 12 bits. Element i of one
// buffer is stored after element i of another is loaded, and about when i + 1 is: buffers that
// begin at the same place of a page keep those apart. Small ones are over before it matters.
constexpr int64_t kPage = 4096;
constexpr int64_t kFromPage = 8 * kPage;
constexpr int64_t kHugePage = int64_t{2} << 20;

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

class HeapStorage final : public core::Storage {
 public:
  using Storage::Storage;
  ~HeapStorage() override { std::free(host_data()); }
};

class MappedStorage final : public core::Storage {
 public:
  MappedStorage(std::shared_ptr<core::Backend> backend, int64_t bytes, void* mapping,
                int64_t mapping_bytes, std::byte* data)
      : Storage(std::move(backend), bytes, data),
        mapping_(mapping),
        mapping_bytes_(mapping_bytes) {}
  ~MappedStorage() override { munmap(mapping_, static_cast<size_t>(mapping_bytes_)); }

 private:
  void* mapping_;
  int64_t mapping_bytes_;
};

class WrappedStorage final : public core::Storage {
 public:
  WrappedStorage(std::shared_ptr<core::Backend> backend, int64_t bytes, std::byte* data,
                 std::shared_ptr<void> owner)
      : Storage(std::move(backend), bytes, data), owner_(std::move(owner)) {}
  [[nodiscard]] bool foreign() const noexcept override { return true; }

 private:
  std::shared_ptr<void> owner_;
};

std::shared_ptr<core::Storage> allocate_heap(std::shared_ptr<core::Backend> backend,
                                             int64_t bytes) {
  const int64_t alignment = bytes < kFromPage ? kAlignment : kPage;
  const auto padded = static_cast<size_t>(round_up(bytes, alignment));
  void* data = std::aligned_alloc(static_cast<size_t>(alignment), padded);
  if (data == nullptr) return nullptr;
  std::memset(data, 0, padded);
  return std::make_shared<HeapStorage>(std::move(backend), bytes, static_cast<std::byte*>(data));
}

// Anonymous pages come zeroed. One huge page of slack lets the data start on a huge-page boundary.
std::shared_ptr<core::Storage> allocate_mapped(std::shared_ptr<core::Backend> backend,
                                               int64_t bytes) {
  const int64_t mapping_bytes = round_up(bytes, kHugePage) + kHugePage;
  void* mapping = mmap(nullptr, static_cast<size_t>(mapping_bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<intptr_t>(mapping);
  auto* data = static_cast<std::byte*>(mapping) + (round_up(address, kHugePage) - address);
#ifdef MADV_HUGEPAGE
  madvise(data, static_cast<size_t>(round_up(bytes, kHugePage)), MADV_HUGEPAGE);  // advice only
#endif
  return std::make_shared<MappedStorage>(std::move(backend), bytes, mapping, mapping_bytes, data);
}

/// What an index that is a few rows off reaches. Pages without rights take no memory.
constexpr int64_t kGuard = int64_t{64} << 20;
constexpr int64_t kGuardedAlignment = 32;  // of long4, which no type of kernel text exceeds

std::shared_ptr<core::Storage> allocate_before_guard(std::shared_ptr<core::Backend> backend,
                                                     int64_t bytes) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t usable = round_up(bytes, page), mapping_bytes = usable + kGuard;
  void* mapping = mmap(nullptr, static_cast<size_t>(mapping_bytes), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  if (mprotect(mapping, static_cast<size_t>(usable), PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, static_cast<size_t>(mapping_bytes));
    return nullptr;
  }
  auto* data = static_cast<std::byte*>(mapping) + (usable - round_up(bytes, kGuardedAlignment));
  return std::make_shared<MappedStorage>(std::move(backend), bytes, mapping, mapping_bytes, data);
}

Result<std::shared_ptr<core::Storage>> if_any(std::shared_ptr<core::Storage> storage,
                                              int64_t bytes) {
  if (storage != nullptr) return storage;
  return fail(Code::out_of_memory, fmt::format("cpu: no memory for {} bytes", bytes));
}

}  // namespace

Result<std::shared_ptr<core::Storage>> allocate(std::shared_ptr<core::Backend> backend,
                                                int64_t bytes) {
  return if_any(bytes < kHugePage ? allocate_heap(std::move(backend), bytes)
                                  : allocate_mapped(std::move(backend), bytes),
                bytes);
}

Result<std::shared_ptr<core::Storage>> allocate_guarded(std::shared_ptr<core::Backend> backend,
                                                        int64_t bytes) {
  return if_any(allocate_before_guard(std::move(backend), bytes), bytes);
}

std::shared_ptr<core::Storage> wrap(std::shared_ptr<core::Backend> backend, uintptr_t address,
                                    int64_t bytes, std::shared_ptr<void> owner) {
  auto* const data = reinterpret_cast<std::byte*>(address);
  return std::make_shared<WrappedStorage>(std::move(backend), bytes, data, std::move(owner));
}

int64_t memory_bytes() noexcept {
  return int64_t{sysconf(_SC_PHYS_PAGES)} * int64_t{sysconf(_SC_PAGESIZE)};
}

}  // namespace norite::cpu
