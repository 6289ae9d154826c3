// SPDX-License-Identifier: MIT
#include "cli/options.hpp"

#include <fmt/format.h>

namespace norite::cli {

Result<Device> open_device(const Options& options, DeviceOptions defaults) {
  defaults.threads = options.threads;
  if (options.kernels == "msl") defaults.builtins = BuiltinForm::text;
  defaults.checked |= options.checked;
  NORITE_TRY_ASSIGN(Device device, Device::open(options.device, defaults));
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
