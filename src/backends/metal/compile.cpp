// SPDX-License-Identifier: MIT
#include "backends/metal/compile.hpp"

#include <fmt/format.h>

#include "backends/metal/foundation.hpp"
#include "backends/metal/function_constants.hpp"
#include "backends/metal/math.hpp"
#include "msl/lower_metal.hpp"

namespace norite::metal {

namespace {

tl::unexpected<Error> refused(std::string_view kernel, Id error) {
  return fail(Code::compile_failed, fmt::format("kernel \"{}\": Metal refused the kernel", kernel),
              description_of(error));
}

Object compile_options() {
  Object options = make("MTLCompileOptions");
  msg::set_language_version(options, MTLLanguageVersion3_1);
  set_precise_math(options);
  return options;
}

Result<Object> new_function(Id library, const msl::Module& module, const std::string& name,
                            const msl::ConstantValues& constants) {
  Id error = nullptr;
  Object function;
  if (module.constants.empty()) {
    function = Object::adopt(msg::new_function(library, string_of(name)));
  } else {
    NORITE_TRY_ASSIGN(const Object values, function_constants(module, constants));
    function =
        Object::adopt(msg::new_function_with_constants(library, string_of(name), values, &error));
  }
  if (function == nullptr) return refused(name, error);
  return function;
}

}  // namespace

Result<Compiled> compile(Id device, const msl::Module& module, const msl::Kernel& kernel,
                         const msl::ConstantValues& constants) {
  Id error = nullptr;
  const auto library = Object::adopt(
      msg::new_library(device, string_of(msl::lower_for_metal(module)), compile_options(), &error));
  if (library == nullptr) return refused(kernel.name, error);
  set_label(library, module.text.files[0]);
  NORITE_TRY_ASSIGN(const Object function, new_function(library, module, kernel.name, constants));

  const Object descriptor = make("MTLComputePipelineDescriptor");
  set_label(descriptor, kernel.name);
  msg::set_compute_function(descriptor, function);
  Id reflection = nullptr;
  auto pipeline = Object::adopt(msg::new_pipeline(
      device, descriptor, MTLPipelineOptionBindingInfo | MTLPipelineOptionBufferTypeInfo,
      &reflection, &error));
  if (pipeline == nullptr) return refused(kernel.name, error);
  return Compiled{std::move(pipeline), Object::retain(reflection)};
}

}  // namespace norite::metal
