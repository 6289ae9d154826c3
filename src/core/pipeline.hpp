// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "norite/kernel_registry.hpp"

namespace norite::core {

/// Kernel text as registered.
struct KernelSource {
  std::string name;  // also the entry point
  std::string text;
};

/// A kernel ready to run on one backend. Backends that compile text derive from it.
class PipelineState {
 public:
  PipelineState(std::shared_ptr<const Backend> backend, std::string name,
                std::vector<Parameter> parameters, NativeFunction native = {})
      : backend_(std::move(backend)),
        name_(std::move(name)),
        parameters_(std::move(parameters)),
        native_(std::move(native)) {}
  virtual ~PipelineState() = default;

  [[nodiscard]] const Backend* backend() const noexcept { return backend_.get(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const noexcept { return parameters_; }
  [[nodiscard]] const NativeFunction& native() const noexcept { return native_; }

 private:
  std::shared_ptr<const Backend> backend_;  // outlives its kernels
  std::string name_;
  std::vector<Parameter> parameters_;
  NativeFunction native_;
};

}  // namespace norite::core
