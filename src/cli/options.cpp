// SPDX-License-Identifier: MIT
#include "cli/options.hpp"

#include <fmt/format.h>

namespace norite::cli {

Result<Device> open_device(const Options& options) {
  NORITE_TRY_ASSIGN(Device device, Device::open(options.device, {.threads = options.threads}));
  if (device.info().computes) return device;
  return fail(Code::unsupported,
              fmt::format("device '{}' records work but computes nothing; 'norite devices' lists "
                          "those that do",
                          device.info().id));
}

std::string describe(const DeviceInfo& info) {
  return info.details.empty() ? info.name : fmt::format("{}, {}", info.name, info.details);
}

}  // namespace norite::cli
