// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "norite/kernel_registry.hpp"

namespace norite::core {

/// Kernel text as registered.
struct KernelSource {
  std::string name;
  KernelText text;
  bool builtin = false;  // its headers are those of kernels/

  [[nodiscard]] const std::string& entry() const noexcept {
    return text.entry.empty() ? name : text.entry;
  }
};

/// What a kernel's text asks of every grid it is dispatched with.
struct GridRules {
  std::vector<std::string> threadgroup_slots = {};  // names of [[threadgroup(n)]] arguments, by n
  int64_t max_threads_per_group = 0;                // 0: the device's limit
};

/// A kernel ready to run on one backend. Backends that compile text derive from it.
class PipelineState {
 public:
  PipelineState(std::shared_ptr<const Backend> backend, std::string name,
                std::vector<Parameter> parameters, NativeFunction native = {},
                std::optional<GridRules> grid_rules = {})
      : backend_(std::move(backend)),
        name_(std::move(name)),
        parameters_(std::move(parameters)),
        native_(std::move(native)),
        grid_rules_(std::move(grid_rules)) {}
  virtual ~PipelineState() = default;

  [[nodiscard]] const Backend* backend() const noexcept { return backend_.get(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  [[nodiscard]] const NativeFunction& native() const noexcept { return native_; }
  /// Nothing for native kernels, which divide their work themselves.
  [[nodiscard]] const std::optional<GridRules>& grid_rules() const noexcept { return grid_rules_; }

 private:
  std::shared_ptr<const Backend> backend_;  // outlives its kernels
  std::string name_;
  std::vector<Parameter> parameters_;
  NativeFunction native_;
  std::optional<GridRules> grid_rules_;
};

/// Whether a kernel that failed to compile with that error would fail again: want of memory, of
/// time, of a device or of a file may pass.
[[nodiscard]] inline bool is_lasting(const Error& error) noexcept {
  return error.code != Code::out_of_memory && error.code != Code::timeout &&
         error.code != Code::unavailable;
}

}  // namespace norite::core
