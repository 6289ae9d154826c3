// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/variables.hpp"

#include <algorithm>

namespace norite::cpu::msl {

namespace {

uint64_t round_up(uint64_t value, uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

bool Variables::place(norite_msl::ThreadgroupVariable& variable, uint64_t bytes,
                      uint64_t alignment) {
  const std::scoped_lock lock(mutex_);
  if (__atomic_load_n(&variable.place, __ATOMIC_RELAXED) != 0) return true;  // someone was faster

  alignment = std::max<uint64_t>(alignment, 1);
  const uint64_t offset = round_up(next_, std::max<uint64_t>(alignment, 16));
  const uint64_t total = round_up(bytes_, alignment) + bytes;
  if (bytes > kMaxThreadgroupBytes || total > kMaxThreadgroupBytes || offset + bytes > kSpan) {
    return false;
  }
  extents_.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes)});
  next_ = offset + bytes + kThreadgroupGap;
  bytes_ = total;
  __atomic_store_n(&variable.place, static_cast<unsigned>(offset) + 1, __ATOMIC_RELEASE);
  return true;
}

uint32_t Variables::bytes() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<uint32_t>(bytes_);
}

std::vector<Variables::Extent> Variables::extents() const {
  const std::scoped_lock lock(mutex_);
  return extents_;
}

}  // namespace norite::cpu::msl
