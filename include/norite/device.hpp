// SPDX-License-Identifier: MIT
#pragma once

#include <norite/buffer.hpp>
#include <norite/encoder.hpp>
#include <norite/kernel_registry.hpp>
#include <norite/pool.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace norite {

namespace core {
class DeviceState;
}

struct DeviceLimits {
  int64_t max_buffer_bytes = 0;
  int64_t max_threads_per_group = 0;
  int64_t max_group_memory_bytes = 0;
  /// Compute units whose groups may wait for each other while they run; 0 where groups may not.
  int64_t cooperating_units = 0;
};

struct DeviceInfo {
  std::string id;       ///< what Device::open takes: "cpu", "cuda:1"
  std::string backend;  ///< "cuda", "metal", "cpu", "null"
  int index = 0;        ///< among the devices of its backend
  std::string name;     ///< the hardware's own name
  std::string details;  ///< one line for people: SIMD level, threads; why it is not usable
  int64_t memory_bytes = 0;
  bool usable = true;    ///< false where open() would fail, for want of a driver, say
  bool computes = true;  ///< false for null, which records dispatches and computes nothing
  int threads = 0;       ///< host threads that run kernels; 0 where that means nothing
  std::vector<std::string> cpu_targets = {};  ///< CPU: the SIMD levels it can be opened with
  DeviceLimits limits;
};

/// Which form of the built-in kernels a device runs that has both.
enum class BuiltinForm : uint8_t { native, text };

struct DeviceOptions {
  /// CPU: how many threads run kernels. 0 asks NORITE_NUM_THREADS, else takes every core.
  int threads = 0;
  /// CPU: a SIMD level of cpu_targets() instead of the best one. Empty asks NORITE_CPU_TARGET.
  std::string cpu_target = {};
  /// CPU: KiB of a core's L1 data cache, 1 to 65536. With AVX-512, how norms go over memory depends
  /// on it; bits do not. 0 asks NORITE_CPU_L1_KIB, else the system.
  int cpu_l1_kib = 0;
  /// CPU: `text` runs operations from the kernels that GPUs run, in the executor of kernel text.
  /// null: `text` plans operations as for a GPU.
  BuiltinForm builtins = BuiltinForm::native;
  /// CPU: kernel text runs checked: accesses outside of its buffers, races, divergent barriers and
  /// reads of threadgroup memory that nothing wrote end the dispatch with check_failed. Slow.
  bool checked = false;
  /// CPU: up to 64 MiB behind the end of a buffer from empty() belong to nobody, but for its last
  /// 32 bytes. Kernel text that goes there is stopped with execution_failed, where it would
  /// otherwise spoil whatever comes next; a kernel in C++ ends the process. Buffers of a pool end
  /// where their size class does.
  bool guard_buffers = false;
  /// CPU: a dispatch of kernel text that runs longer is cancelled, with timeout. 0 is no limit.
  double kernel_time_limit_seconds = 0;
  /// CUDA: a CUstream or cudaStream_t of that GPU (null is its default stream) that all work goes
  /// to, in the order of the calls. It must outlive the device and its buffers.
  std::optional<void*> cuda_stream = {};
};

/// A handle on an opened device; copies refer to the same one. May be shared between threads. The
/// last one to go, of encoders and graphs too, waits for what was submitted, unless it goes inside
/// of a kernel of that device.
class NORITE_API Device {
 public:
  /// Opens a device by id. An empty id asks NORITE_DEVICE, else takes the best device here.
  [[nodiscard]] static Result<Device> open(std::string_view id = {},
                                           const DeviceOptions& options = {});
  /// Every device that open() could give, the best first; then GPUs that are not usable here, or
  /// one for want of NVIDIA's driver, with the reason. They compute nothing.
  [[nodiscard]] static std::vector<DeviceInfo> list();
  /// The backends of this build, the best first, whether there is a device for them here or not.
  /// No driver is started for this.
  [[nodiscard]] static std::vector<std::string> backends();
  /// SIMD levels of the CPU backend that this machine can run, the best first.
  [[nodiscard]] static std::vector<std::string> cpu_targets();

  [[nodiscard]] const DeviceInfo& info() const noexcept;

  /// A new buffer, every byte zero. Rank 0 is one element; a zero extent is refused.
  [[nodiscard]] Result<Buffer> empty(DType dtype, const Shape& shape) const;
  /// Starts an empty list of dispatches.
  [[nodiscard]] Encoder encoder(const EncoderOptions& options = {}) const;
  /// The device's kernels, built-in and registered.
  [[nodiscard]] KernelRegistry& registry() const noexcept;
  /// The pool that operations take their scratch memory from.
  [[nodiscard]] Pool& pool() const noexcept;

  /// Waits for what was submitted, then refuses further work: failed_precondition. There are no new
  /// buffers, of any pool, and no kernels to register or to get. Buffers stay readable until they
  /// are dropped.
  void close() const;

  [[nodiscard]] const std::shared_ptr<core::DeviceState>& state() const noexcept { return state_; }

 private:
  friend class core::DeviceState;
  explicit Device(std::shared_ptr<core::DeviceState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<core::DeviceState> state_;
};

}  // namespace norite
