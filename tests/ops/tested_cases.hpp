// SPDX-License-Identifier: MIT
// Which cases of the table a device is tested with.
#pragma once

#include <string>
#include <vector>

#include "cases/case.hpp"
#include "ops/tested_device.hpp"

namespace norite::test {

/// Rows so long that a GPU has kernels of their own for them are two thirds of the table's elements
/// and nothing special to a CPU: its best level alone has them.
inline std::vector<const cases::Case*> tested_cases(const std::string& device) {
  constexpr int64_t kLong = 10000;
  std::vector<const cases::Case*> selected = cases::select(cases::kVerify, "");
  if (device == kCuda || device == Device::cpu_targets().front()) return selected;
  std::erase_if(selected, [](const cases::Case* one) { return one->shape.back() > kLong; });
  return selected;
}

}  // namespace norite::test
