// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "norite/device.hpp"
#include "norite/encoder.hpp"
#include "ops/plan.hpp"

namespace norite::ops {

/// Whether the device has host code for the built-in kernel `kernel`.
inline bool has_native(const Encoder& encoder, std::string_view kernel) {
  return static_cast<bool>(encoder.device().registry().native_pipeline(kernel));
}

/// A view and its position among a kernel's arguments.
struct Bound {
  size_t position;
  const View& view;
};

/// So many arguments, of which these have views: those that are given.
[[nodiscard]] std::vector<Argument> bind(size_t count, std::initializer_list<Bound> views);

/// Whether kernels of kernels/cuda run there: groups wait for each other, and copies to threadgroup
/// memory go on while threads work.
bool runs_cuda_kernels(const Device& device);

/// Records a kernel's text in the form that the plan says.
[[nodiscard]] Result<void> dispatch_text(Encoder& encoder, std::string_view operation, Plan plan,
                                         std::vector<Argument>&& arguments);

/// Records the built-in kernel `kernel` under the operation's name: host code where the device has
/// it, else text in the form that `plan()` chooses.
template <class MakePlan>
[[nodiscard]] Result<void> dispatch(Encoder& encoder, std::string_view operation,
                                    std::string_view kernel, std::vector<Argument>&& arguments,
                                    const MakePlan& plan) {
  if (const Pipeline native = encoder.device().registry().native_pipeline(kernel)) {
    return encoder.dispatch_owned(native, std::move(arguments), {}, operation);
  }
  return dispatch_text(encoder, operation, plan(), std::move(arguments));
}

}  // namespace norite::ops
