// SPDX-License-Identifier: MIT
#include "backends/cuda/context.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace norite::cuda {

namespace {

/// Errors after which a context answers every call with the same one.
bool ends_context(CUresult error) {
  switch (error) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:  // stack errors, illegal instructions, misaligned addresses and their kin
      return error >= CUDA_ERROR_HARDWARE_STACK_ERROR && error <= CUDA_ERROR_LAUNCH_FAILED;
  }
}

/// Contexts in use, by driver and GPU.
struct Contexts {
  std::mutex mutex;
  std::map<std::pair<const Driver*, CUdevice>, std::weak_ptr<Context>> known;
};
Contexts& contexts() {
  static Contexts* const all = new Contexts;  // for devices that are dropped while the process ends
  return *all;
}

}  // namespace

Result<std::shared_ptr<Context>> Context::retain(std::shared_ptr<const Driver> driver,
                                                 CUdevice device, std::string id) {
  const std::scoped_lock lock(contexts().mutex);
  std::weak_ptr<Context>& known = contexts().known[{driver.get(), device}];
  if (auto context = known.lock()) return context;
  CUcontext handle = nullptr;
  if (const CUresult error = driver->cuDevicePrimaryCtxRetain(&handle, device)) {
    return fail(Code::unavailable,
                fmt::format("{}: it cannot be opened: {}", id, driver->describe(error)));
  }
  std::shared_ptr<Context> context(new Context(std::move(driver), device, handle, std::move(id)));
  known = context;
  return context;
}

// Never while another thread retains the same one, which might get a context that is being
// destroyed.
Context::~Context() {
  const std::scoped_lock lock(contexts().mutex);
  driver_->cuDevicePrimaryCtxRelease_v2(device_);
}

Result<int> Context::attribute(int attribute) const {
  int value = 0;
  if (const CUresult error = driver_->cuDeviceGetAttribute(&value, attribute, device_)) {
    return fail(Code::unavailable,
                fmt::format("{}: attribute {}: {}", id_, attribute, driver_->describe(error)));
  }
  return value;
}

Result<void> Context::check(CUresult error, std::string_view doing) {
  if (error == CUDA_SUCCESS) return {};
  const std::scoped_lock lock(mutex_);
  if (ends_context(error) && !fault_) fault_ = error;
  if (fault_) return lost();
  const Code code =
      error == CUDA_ERROR_OUT_OF_MEMORY ? Code::out_of_memory : Code::execution_failed;
  return fail(code, fmt::format("{}: {}: {}", id_, doing, driver_->describe(error)));
}

std::optional<CUresult> Context::fault() const {
  const std::scoped_lock lock(mutex_);
  return fault_;
}

Result<void> Context::usable() const {
  const std::scoped_lock lock(mutex_);
  if (fault_) return lost();
  return {};
}

Result<void> Context::blame(CUresult error, std::string_view work) {
  const std::scoped_lock lock(mutex_);
  if (ends_context(error)) {
    if (!culprit_.empty()) return lost();
    fault_ = error;
    culprit_ = work;
  }
  return fail(Code::execution_failed, fmt::format("{}: {}", work, driver_->describe(error)));
}

tl::unexpected<Error> Context::lost() const {
  return fail(Code::unavailable, fmt::format("{} is lost{}{}: {}", id_,
                                             culprit_.empty() ? "" : ", which showed first in ",
                                             culprit_, driver_->describe(*fault_)));
}

}  // namespace norite::cuda
