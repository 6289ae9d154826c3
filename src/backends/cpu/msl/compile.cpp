// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/compile.hpp"

#include <fmt/format.h>

#include "backends/cpu/msl/runtime.hpp"
#include "msl/lower_clang.hpp"
#include "msl/toolchain.hpp"

namespace norite::cpu::msl {

namespace {

using norite::msl::Toolchain;
using Flags = std::vector<std::string>;

/// Metal's standard library, parsed: doing that again would be a third of compiling a kernel.
Result<std::filesystem::path> precompiled_library(const core::ObjectCache& cache,
                                                  const Toolchain& toolchain, const Flags& flags) {
  const std::string& text = norite::msl::clang_library();
  return cache.get_ingredient(
      core::object_key(text, flags, toolchain.version()), ".pch",
      [&](const std::string& path) { return toolchain.precompile(text, path, flags); });
}

Result<void> compile_after_library(const core::ObjectCache& cache, const Toolchain& toolchain,
                                   std::string_view text, const std::string& object_path,
                                   const Flags& flags) {
  NORITE_TRY_ASSIGN(const auto library, precompiled_library(cache, toolchain, flags));
  return toolchain.compile_after(library.string(), text, object_path, flags);
}

Result<void> compile_text(const core::ObjectCache& cache, const Toolchain& toolchain,
                          std::string_view lowered_text, const std::string& object_path,
                          const Flags& flags) {
  if (const auto own_text = norite::msl::after_clang_library(lowered_text)) {
    auto done = compile_after_library(cache, toolchain, *own_text, object_path, flags);
    if (done || done.error().code == Code::timeout) return done;
  }
  // Where that was refused, the whole text says what about it is the kernel's fault.
  return toolchain.compile(lowered_text, object_path, flags);
}

}  // namespace

Result<std::shared_ptr<KernelObject>> compile(const core::ObjectCache& cache,
                                              std::string_view kernel,
                                              std::string_view lowered_text, bool checked) {
  NORITE_TRY_ASSIGN(const auto toolchain, Toolchain::find());
  const auto flags = norite::msl::compile_flags(checked);
  const std::string key = core::object_key(lowered_text, flags, toolchain.version());
  auto path = cache.get(key, ".so", [&](const std::string& object) {
    return compile_text(cache, toolchain, lowered_text, object, flags);
  });
  if (!path) {
    Error& error = path.error();
    return fail(error.code, fmt::format("kernel \"{}\": {}", kernel, error.message),
                std::move(error.log));
  }
  return KernelObject::open(*path, runtime(), checked);
}

}  // namespace norite::cpu::msl
