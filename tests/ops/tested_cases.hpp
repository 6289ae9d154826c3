// SPDX-License-Identifier: MIT
// Which cases of the table a device is tested with.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "cases/case.hpp"
#include "ops/tested_device.hpp"

namespace norite::test {

/// All of them, or one in NORITE_TEST_EVERY, an environment variable. Under a sanitizer, the CPU's
/// best level alone has rows so long that a GPU has kernels of their own for them: they are two
/// thirds of the table's elements, and nothing special to a CPU.
inline std::vector<const cases::Case*> tested_cases(const std::string& device) {
  const unsigned more = device == kCuda ? cases::kVerifyGpu : 0;
  std::vector<const cases::Case*> selected = cases::select(cases::kVerify | more, "");
  if (const char* const every = std::getenv("NORITE_TEST_EVERY")) {
    std::erase_if(selected, [count = 0, step = std::max(1, std::atoi(every))](
                                const cases::Case*) mutable { return count++ % step != 0; });
  }
#if defined(NORITE_TEST_SANITIZED)
  constexpr int64_t kLong = 10000;
  if (device == kCuda || device == Device::cpu_targets().front()) return selected;
  std::erase_if(selected, [](const cases::Case* one) { return one->shape.back() > kLong; });
#endif
  return selected;
}

}  // namespace norite::test
