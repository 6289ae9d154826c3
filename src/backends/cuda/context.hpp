// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "backends/cuda/driver.hpp"

namespace norite::cuda {

/// The primary context of one GPU, which this process shares with every other user of CUDA in it,
/// and whether the GPU still answers.
///
/// A kernel that faults leaves the context useless: every later call fails with the same error. The
/// GPU then counts as lost for all devices that were opened on it; the process and its other GPUs
/// go on.
class Context {
 public:
  /// The GPU's, which all that is open on it shares. `id` names it in errors.
  [[nodiscard]] static Result<std::shared_ptr<Context>> retain(std::shared_ptr<const Driver> driver,
                                                               CUdevice device, std::string id);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] const Driver& driver() const noexcept { return *driver_; }
  [[nodiscard]] CUcontext handle() const noexcept { return handle_; }
  [[nodiscard]] CUdevice device() const noexcept { return device_; }
  [[nodiscard]] Result<int> attribute(int attribute) const;

  /// The error that a call of the driver's gave, where it gave one; `doing` says what for.
  [[nodiscard]] Result<void> check(CUresult error, std::string_view doing);
  /// The error that ended the context, once there was one.
  [[nodiscard]] std::optional<CUresult> fault() const;
  /// Errors: unavailable once the device is lost.
  [[nodiscard]] Result<void> usable() const;
  /// For whoever's work ended with an error. The first one after a fault is told that it was its
  /// own (execution_failed), the others that the device is lost. Of several devices on one GPU, the
  /// first to notice need not be the one whose kernel faulted: CUDA does not tell.
  [[nodiscard]] Result<void> blame(CUresult error, std::string_view work);

 private:
  Context(std::shared_ptr<const Driver> driver, CUdevice device, CUcontext handle, std::string id)
      : driver_(std::move(driver)), device_(device), handle_(handle), id_(std::move(id)) {}
  [[nodiscard]] tl::unexpected<Error> lost() const;

  std::shared_ptr<const Driver> driver_;
  CUdevice device_;
  CUcontext handle_;
  std::string id_;

  mutable std::mutex mutex_;
  std::optional<CUresult> fault_;
  std::string culprit_;  // the work in which the fault showed first
};

/// Makes a context the calling thread's for the length of a scope. What was current before is again
/// afterwards: the thread is the caller's.
class Current {
 public:
  explicit Current(const Context& context)
      : driver_(context.driver()),
        pushed_(driver_.cuCtxPushCurrent_v2(context.handle()) == CUDA_SUCCESS) {}
  ~Current() {
    CUcontext popped = nullptr;
    if (pushed_) driver_.cuCtxPopCurrent_v2(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  const Driver& driver_;
  bool pushed_;
};

}  // namespace norite::cuda
