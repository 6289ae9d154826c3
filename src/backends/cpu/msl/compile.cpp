// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/compile.hpp"

#include <fmt/format.h>

#include "backends/cpu/msl/runtime.hpp"
#include "msl/toolchain.hpp"

namespace norite::cpu::msl {

Result<std::shared_ptr<KernelObject>> compile(const core::ObjectCache& cache,
                                              std::string_view kernel,
                                              std::string_view lowered_text, bool checked) {
  NORITE_TRY_ASSIGN(const auto toolchain, norite::msl::Toolchain::find());
  const auto flags = norite::msl::compile_flags(checked);
  const std::string key = core::object_key(lowered_text, flags, toolchain.version());
  auto path = cache.get(key, ".so", lowered_text,
                        [&](const std::string& source, const std::string& object) {
                          return toolchain.compile(source, object, flags);
                        });
  if (!path) {
    Error& error = path.error();
    return fail(error.code, fmt::format("kernel \"{}\": {}", kernel, error.message),
                std::move(error.log));
  }
  return KernelObject::open(*path, runtime(), checked);
}

}  // namespace norite::cpu::msl
