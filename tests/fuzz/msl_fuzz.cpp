// SPDX-License-Identifier: MIT
// libFuzzer target: whatever the bytes are, the front end of kernel text refuses them with a reason
// or lowers every kernel that it found.
#include <cstdlib>
#include <string>

#include "msl/lower_clang.hpp"
#include "msl/lower_lint.hpp"
#include "msl/portability.hpp"
#include "msl/source.hpp"

namespace msl = norite::msl;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const norite::KernelText text(std::string(reinterpret_cast<const char*>(data), size));
  const auto module = msl::parse(msl::source_of(text), {});
  if (!module) {
    if (module.error().message.empty()) std::abort();
    return 0;
  }
  (void)msl::check_portability(*module);
  const msl::ConstantValues zeros = msl::zero_constants(*module);
  (void)msl::lower_all_for_clang(*module, module->kernels, zeros);
  (void)msl::lower_for_lint(*module, module->kernels, zeros);
  for (const msl::Kernel& kernel : module->kernels) {
    (void)msl::lower_for_clang(*module, kernel, {});
  }
  return 0;
}
