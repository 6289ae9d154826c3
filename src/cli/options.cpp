// SPDX-License-Identifier: MIT
#include "cli/options.hpp"

#include <fmt/format.h>

#include <cstdlib>

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

Result<Options> on_cpu(Options options, std::string_view option) {
  const char* variable = std::getenv("NORITE_DEVICE");
  const bool named = !options.device.empty();
  const std::string device = named || variable == nullptr ? options.device : variable;
  if (!device.empty() && device.substr(0, device.find(':')) != "cpu") {
    return fail(Code::invalid_argument,
                fmt::format("{} works on the device cpu alone, and {} is '{}'", option,
                            named ? "--device" : "NORITE_DEVICE", device));
  }
  if (device.empty()) options.device = "cpu";
  return options;
}

std::string describe(const DeviceInfo& info) {
  return info.details.empty() ? info.name : fmt::format("{}, {}", info.name, info.details);
}

}  // namespace norite::cli
