// SPDX-License-Identifier: MIT
#include "core/builtin_kernels.hpp"

#include <algorithm>

namespace norite::core {

namespace {

Parameter in(const char* name) { return {name, Access::read, false}; }
Parameter maybe_in(const char* name) { return {name, Access::read, true}; }
Parameter out(const char* name) { return {name, Access::write, false}; }
Parameter maybe_out(const char* name) { return {name, Access::write, true}; }
Parameter constants() { return {"params", Access::bytes, false}; }

using Parameters = std::vector<Parameter>;

Parameters of_rms_norm() {
  return {in("x"),          maybe_in("weight"), maybe_in("residual"), maybe_in("scale"),
          maybe_out("sum"), maybe_out("y"),     maybe_out("rms_inv"), constants()};
}

Parameters of_rms_norm_backward() {
  return {in("x"),
          maybe_in("weight"),
          in("dy"),
          maybe_in("rms_inv"),
          maybe_in("dresidual"),
          maybe_out("dx"),
          maybe_out("dw_partial"),
          constants()};
}

/// For groups that share rows. What they tell each other meanwhile is nobody's data: such kernels
/// are kept apart by what launches them, and nothing else looks at it.
Parameters with_sums(Parameters parameters) {
  parameters.push_back({"sums", Access::none, false});
  return parameters;
}

}  // namespace

std::span<const BuiltinKernel> builtin_kernels() {
  static const std::vector<BuiltinKernel> kernels = {
      {"rms_norm", of_rms_norm()},
      {"rms_norm_backward", of_rms_norm_backward()},
      {"sum_partials", {in("partial"), out("out"), constants()}},
      // Rows in threadgroup memory, and rows that several groups share: text alone.
      {"rms_norm_staged", of_rms_norm()},
      {"rms_norm_backward_staged", of_rms_norm_backward()},
      {"rms_norm_long", with_sums(of_rms_norm())},
      {"rms_norm_backward_long", with_sums(of_rms_norm_backward())},
      {"fused_head_norm_rope",
       {in("x"), maybe_in("weight"), maybe_in("positions"), maybe_in("freq_factors"),
        maybe_in("cos"), maybe_in("sin"), out("y"), maybe_out("copy"), constants()}},
      {"fused_head_norm_rope_backward",
       {in("x"), maybe_in("weight"), maybe_in("positions"), maybe_in("freq_factors"),
        maybe_in("cos"), maybe_in("sin"), in("dy"), maybe_out("dx"), maybe_out("dw_partial"),
        constants()}},
      {"elementwise",
       {in("in0"), maybe_in("in1"), maybe_in("in2"), out("out0"), maybe_out("out1"), constants()}},
      {"flash_attn_train_bwd_compute_d", {in("o"), in("d_o"), out("d"), constants()}},
  };
  return kernels;
}

const BuiltinKernel* find_builtin(std::string_view kernel) noexcept {
  const auto kernels = builtin_kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const BuiltinKernel& one) { return one.name == kernel; });
  return found == kernels.end() ? nullptr : &*found;
}

Access declared_access(const BuiltinKernel* builtin, std::span<const Parameter> parameters,
                       size_t position) noexcept {
  const bool declared = builtin != nullptr && position < builtin->parameters.size();
  return declared ? builtin->parameters[position].access : parameters[position].access;
}

}  // namespace norite::core
