// SPDX-License-Identifier: MIT
// What a backend implements: one opened device. Backends are rows of one table
// (src/backends/all.cpp); none knows another.
#pragma once

#include <atomic>
#include <span>
#include <string_view>
#include <vector>

#include "core/command_list.hpp"
#include "core/completion.hpp"
#include "core/pipeline.hpp"
#include "core/storage.hpp"
#include "norite/device.hpp"

namespace norite::core {

/// What a backend keeps of a list from one replay to the next.
struct ReplayState {
  std::shared_ptr<void> prepared;  // the backend's own
  bool changed = true;             // the list is another than it was prepared for
};

class Backend : public std::enable_shared_from_this<Backend> {
 public:
  virtual ~Backend() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const noexcept = 0;

  /// New memory, every byte zero. `bytes` is positive and within the device's limit.
  [[nodiscard]] virtual Result<std::shared_ptr<Storage>> allocate(int64_t bytes) = 0;
  /// Memory of someone else's, which `owner` keeps. It begins at a multiple of wrap_alignment().
  /// Errors: unsupported where the backend has memory of its own only, invalid_argument for memory
  /// that is not this device's.
  [[nodiscard]] virtual Result<std::shared_ptr<Storage>> wrap(uintptr_t address, int64_t bytes,
                                                              std::shared_ptr<void> owner);
  [[nodiscard]] virtual uintptr_t wrap_alignment() const noexcept { return 1; }
  /// Where the storage begins for programs that address this device's memory.
  [[nodiscard]] virtual uintptr_t address_of(const Storage& storage) const noexcept {
    return reinterpret_cast<uintptr_t>(storage.host_data());
  }
  // Copies are ordered after everything submitted so far; ranges are within the storage.
  [[nodiscard]] virtual Result<void> write(Storage& target, int64_t offset,
                                           std::span<const std::byte> source) = 0;
  [[nodiscard]] virtual Result<void> read(const Storage& source, int64_t offset,
                                          std::span<std::byte> target) = 0;
  /// For memory that nothing submitted refers to any more.
  [[nodiscard]] virtual Result<void> fill_zero(Storage& target) = 0;

  /// Host code for a built-in kernel; empty where the backend compiles kernel text instead.
  [[nodiscard]] virtual NativeFunction native_builtin(std::string_view name) const = 0;
  /// Whether native kernels can run here at all.
  [[nodiscard]] virtual bool runs_native() const noexcept = 0;
  /// Compiles kernel text in the form that `id` names. Called once for each id.
  [[nodiscard]] virtual Result<std::shared_ptr<const PipelineState>> compile(
      const KernelSource& source, const KernelId& id) = 0;

  /// What the device's launches cannot take of a grid that is within its limits.
  [[nodiscard]] virtual Result<void> check_grid(const Grid&) const { return {}; }
  /// How many kernels were compiled, rather than found in the cache of earlier ones.
  [[nodiscard]] virtual int64_t built_kernels() const noexcept { return 0; }

  /// Runs the list after everything submitted before, and completes `completion` in the end.
  [[nodiscard]] virtual Result<void> submit(CommandList list,
                                            std::shared_ptr<Completion> completion) = 0;
  /// submit and wait in one, for backends that save a hand-over by using the caller's thread.
  virtual Result<void> submit_and_wait(CommandList list, std::shared_ptr<Completion> completion) {
    if (auto submitted = submit(std::move(list), completion); !submitted) return submitted;
    return completion->wait();
  }
  /// submit_and_wait of a list that stays, to be run again.
  virtual Result<void> replay(const CommandList& list, ReplayState&) {
    return submit_and_wait(list, std::make_shared<Completion>());
  }
  /// Returns when everything submitted has ended.
  virtual void wait_idle() = 0;

  // Whoever gives something out for a device has its backend, and asks here first: a pool and a
  // registry know no device, which has them.
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] Result<void> check_open(std::string_view operation) const;
  void close() noexcept { closed_ = true; }

 private:
  std::atomic<bool> closed_ = false;
};

/// A row of the backend table.
struct BackendEntry {
  std::string_view name;
  /// Devices of this kind on this machine; empty where there is none.
  std::vector<DeviceInfo> (*list)();
  /// Opens the device with that index of list().
  Result<std::shared_ptr<Backend>> (*open)(int index, const DeviceOptions& options);
};

/// Every backend of this build, the most capable first.
std::span<const BackendEntry> backend_table() noexcept;

}  // namespace norite::core
