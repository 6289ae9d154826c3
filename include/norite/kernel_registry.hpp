// SPDX-License-Identifier: MIT
#pragma once

#include <norite/error.hpp>
#include <norite/kernel_text.hpp>
#include <norite/native_kernel.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace norite {

namespace core {
class Backend;
class PipelineState;
struct KernelKey;
struct KernelSource;
}  // namespace core

/// Which kernel, in which form. A struct rather than a glued string, so that no two ever collide.
struct KernelId {
  std::string name;                    ///< as registered
  Specialisation specialisation = {};  ///< empty for native kernels
  FunctionConstants constants = {};    ///< empty for native kernels

  friend auto operator<=>(const KernelId&, const KernelId&) = default;
};

/// A kernel ready to dispatch on one device. Copies refer to the same one.
class NORITE_API Pipeline {
 public:
  Pipeline() = default;
  explicit Pipeline(std::shared_ptr<const core::PipelineState> state) noexcept
      : state_(std::move(state)) {}

  explicit operator bool() const noexcept { return state_ != nullptr; }
  [[nodiscard]] const std::string& name() const noexcept;
  /// What the kernel takes, by position. Every dispatch is checked against it.
  [[nodiscard]] const std::vector<Parameter>& parameters() const noexcept;

  [[nodiscard]] const core::PipelineState* state() const noexcept { return state_.get(); }
  [[nodiscard]] const std::shared_ptr<const core::PipelineState>& shared_state() const noexcept {
    return state_;
  }

 private:
  std::shared_ptr<const core::PipelineState> state_;
};

/// The kernels of one device: built-in ones and the user's. Compiles at first use, once even when
/// many threads ask at the same time. May be shared between threads. That of a closed device takes
/// and gives no kernels: failed_precondition.
class NORITE_API KernelRegistry {
 public:
  explicit KernelRegistry(std::shared_ptr<core::Backend> backend);
  ~KernelRegistry();
  KernelRegistry(const KernelRegistry&) = delete;
  KernelRegistry& operator=(const KernelRegistry&) = delete;

  /// Registers a kernel's text (Metal Shading Language); `name` is its entry point, unless the
  /// text names another. Nothing is compiled yet. Errors: already_exists, invalid_argument (empty
  /// name or text).
  ///
  /// Arguments of a dispatch are matched by position: the one at position n is [[buffer(n)]].
  [[nodiscard]] Result<void> register_source(std::string name, KernelText source);
  [[nodiscard]] Result<void> register_source(core::KernelSource source);
  /// Registers a kernel written in C++, for devices that run host code. Errors: already_exists,
  /// invalid_argument (no name, no function), unsupported (the device runs no host code).
  [[nodiscard]] Result<void> register_native(NativeKernel kernel);

  /// Errors: not_found (no such name), compile_failed (with the log), unsupported (this device
  /// cannot run that kind of kernel). What is wrong with the text is remembered: asking again gives
  /// the same error. Where memory or time ran out, or a device or file was not there, the next call
  /// tries again.
  [[nodiscard]] Result<Pipeline> get_pipeline(const KernelId& id);
  /// The same by a key that operations make from their plans.
  [[nodiscard]] Result<Pipeline> get_planned(const core::KernelKey& key);

  [[nodiscard]] bool contains(std::string_view name) const;
  /// The pipeline of a kernel that is host code, and so needs neither a form nor a grid; an empty
  /// one for text and for unknown names.
  [[nodiscard]] Pipeline native_pipeline(std::string_view name) const;
  /// Every registered name, sorted.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Every kernel of text and specialisation that was asked for so far.
  [[nodiscard]] std::vector<KernelId> requested() const;
  /// How many those are.
  [[nodiscard]] int64_t compiled_count() const;
  /// How many of them had to be compiled: the others were in the cache on disk.
  [[nodiscard]] int64_t built_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace norite
