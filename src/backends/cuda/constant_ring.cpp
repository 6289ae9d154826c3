// SPDX-License-Identifier: MIT
#include "backends/cuda/constant_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace norite::cuda {

namespace {

constexpr size_t kAlignment = 256;  // as allocations have it: the kernel may read it in any type

}  // namespace

ConstantRing::~ConstantRing() {
  const Current current(stream_->context());
  if (device_ != 0) stream_->driver().cuMemFree_v2(device_);
}

Result<void> ConstantRing::prepare() {
  if (!host_) {
    NORITE_TRY_ASSIGN(auto memory, Pinned::allocate(stream_, kBytes));
    host_.emplace(std::move(memory));
  }
  if (device_ != 0) return {};
  return stream_->context().check(stream_->driver().cuMemAlloc_v2(&device_, kBytes),
                                  "memory for constants");
}

Result<CUdeviceptr> ConstantRing::place(const Stream& stream,
                                        std::span<const std::byte> constants) {
  if (constants.size() > kBytes) {
    return fail(Code::invalid_argument, fmt::format("{} bytes of constants, at most {} expected",
                                                    constants.size(), kBytes));
  }
  NORITE_TRY(prepare());
  if (constants.size() > kBytes - used_) {
    NORITE_TRY(stream_->synchronise());  // kernels may still read what is there
    used_ = 0;
  }
  std::byte* const staged = host_->data() + used_;
  const CUdeviceptr target = device_ + used_;
  std::memcpy(staged, constants.data(), constants.size());
  NORITE_TRY(stream.context().check(
      stream.driver().cuMemcpyHtoDAsync_v2(target, staged, constants.size(), stream.handle()),
      "a copy of constants"));
  used_ = std::min(kBytes, (used_ + constants.size() + kAlignment - 1) / kAlignment * kAlignment);
  return target;
}

}  // namespace norite::cuda
