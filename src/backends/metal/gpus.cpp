// SPDX-License-Identifier: MIT
#include "backends/metal/gpus.hpp"

#include <fmt/format.h>

#include "backends/metal/foundation.hpp"

namespace norite::metal {

namespace {

constexpr NSOperatingSystemVersion kOldestSystem{14, 0, 0};  // the first with Metal 3.1 and bfloat
constexpr NSInteger kNewestFamily = 20;                      // to be asked for
constexpr int64_t kMaxThreadsPerGroup = 1024;                // of all of Apple's GPUs since Apple4

/// 9 for Apple9; 0 for GPUs of others and those before the M1.
NSInteger apple_family(Id device) {
  constexpr NSInteger kFirst = MTLGPUFamilyApple7, kOffset = kFirst - 7;
  for (NSInteger family = kNewestFamily; kOffset + family >= kFirst; --family) {
    if (msg::supports_family(device, kOffset + family)) return family;
  }
  return 0;
}

Gpu describe(Id device, size_t index) {
  const Id system = msg::process_info(class_named("NSProcessInfo"));
  Gpu gpu{Object::retain(device), {}};
  DeviceInfo& info = gpu.info;
  info.id = index == 0 ? "metal" : fmt::format("metal:{}", index);
  info.backend = "metal";
  info.name = text_of(msg::device_name(device));
  info.details = fmt::format("GPU family Apple{}, macOS {}", apple_family(device),
                             text_of(msg::version_string(system)));
  info.memory_bytes = static_cast<int64_t>(msg::working_set_size(device));
  info.limits = {
      .max_buffer_bytes = static_cast<int64_t>(msg::max_buffer_length(device)),
      .max_threads_per_group = kMaxThreadsPerGroup,
      .max_group_memory_bytes = static_cast<int64_t>(msg::max_threadgroup_memory(device))};
  return gpu;
}

}  // namespace

std::vector<Gpu> find_gpus() {
  const Object devices = Object::adopt(runtime()->MTLCopyAllDevices());
  std::vector<Gpu> gpus;
  for_each(devices, [&](Id device) { gpus.push_back(describe(device, gpus.size())); });
  return gpus;
}

Result<void> check_gpu(const Gpu& gpu) {
  const Id system = msg::process_info(class_named("NSProcessInfo"));
  if (!msg::is_at_least_version(system, kOldestSystem)) {
    return fail(Code::unavailable,
                fmt::format("{}: macOS {} is too old, expected {} or later", gpu.info.id,
                            text_of(msg::version_string(system)), kOldestSystem.major));
  }
  if (apple_family(gpu.device) == 0) {
    return fail(Code::unavailable, fmt::format("{}: {} is not a GPU of Apple silicon (M1 or later)",
                                               gpu.info.id, gpu.info.name));
  }
  return {};
}

}  // namespace norite::metal
