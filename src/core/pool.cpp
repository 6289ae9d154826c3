// SPDX-License-Identifier: MIT
#include "norite/pool.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "core/backend.hpp"
#include "core/device_state.hpp"

namespace norite {

struct Pool::State {
  explicit State(std::shared_ptr<core::Backend> owner) : backend(std::move(owner)) {}

  void give_back(std::shared_ptr<core::Storage> storage) {
    const std::scoped_lock lock(mutex);
    const int64_t bytes = storage->size_bytes();
    statistics.bytes_in_use -= bytes;
    if (backend->closed()) return;  // nobody can ask for it again
    try {
      cached[bytes].push_back(std::move(storage));
      statistics.bytes_cached += bytes;
    } catch (const std::bad_alloc&) {  // no memory for the list: the storage is given up
    }
  }

  // A cached allocation of that class, or nullptr.
  std::shared_ptr<core::Storage> take(int64_t bytes) {
    const std::scoped_lock lock(mutex);
    auto& free = cached[bytes];
    if (free.empty()) return nullptr;
    statistics.bytes_cached -= bytes;
    auto storage = std::move(free.back());
    free.pop_back();
    return storage;
  }

  void count_as_used(int64_t bytes, bool was_cached) {
    const std::scoped_lock lock(mutex);
    ++(was_cached ? statistics.hits : statistics.misses);
    statistics.bytes_in_use += bytes;
    statistics.peak_bytes_in_use = std::max(statistics.peak_bytes_in_use, statistics.bytes_in_use);
  }

  std::shared_ptr<core::Backend> backend;
  mutable std::mutex mutex;
  std::map<int64_t, std::vector<std::shared_ptr<core::Storage>>> cached;
  PoolStatistics statistics;
};

Pool::Pool(const Device& device) : Pool(device.state()->shared_backend()) {}

Pool::Pool(std::shared_ptr<core::Backend> backend)
    : state_(std::make_shared<State>(std::move(backend))) {}

int64_t Pool::size_class(int64_t bytes) noexcept {
  constexpr int64_t kSmallest = 256;
  if (bytes <= kSmallest) return kSmallest;
  // Four steps between powers of two: 1, 1.25, 1.5, 1.75.
  const int64_t step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes - 1))) / 4;
  if (bytes > INT64_MAX - step) return bytes;
  return (bytes + step - 1) / step * step;
}

Result<Buffer> Pool::acquire(DType dtype, const Shape& shape, Fill fill) {
  NORITE_TRY_ASSIGN(const int64_t wanted,
                    core::checked_buffer_bytes(*state_->backend, dtype, shape));
  const int64_t limit = state_->backend->info().limits.max_buffer_bytes;
  const int64_t bytes = std::min(size_class(wanted), limit);
  auto storage = state_->take(bytes);
  const bool was_cached = storage != nullptr;
  if (!was_cached) {
    auto fresh = state_->backend->allocate(bytes);
    if (!fresh && trim() > 0) fresh = state_->backend->allocate(bytes);
    if (!fresh) return tl::unexpected<Error>(std::move(fresh).error());
    storage = *std::move(fresh);
  } else if (fill == Fill::zero) {
    NORITE_TRY(state_->backend->fill_zero(*storage));
  }
  state_->count_as_used(bytes, was_cached);
  // The handle given out shares the storage under another count, whose end returns it to the pool.
  core::Storage* raw = storage.get();
  std::shared_ptr<core::Storage> handle(
      raw, [state = state_, kept = std::move(storage)](core::Storage*) mutable {
        state->give_back(std::move(kept));
      });
  return Buffer(std::move(handle), dtype, shape);
}

int64_t Pool::trim() {
  std::map<int64_t, std::vector<std::shared_ptr<core::Storage>>> freed;
  const std::scoped_lock lock(state_->mutex);
  freed.swap(state_->cached);
  return std::exchange(state_->statistics.bytes_cached, 0);
}

PoolStatistics Pool::statistics() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->statistics;
}

}  // namespace norite
