// SPDX-License-Identifier: MIT
#include "cli/json_output.hpp"
#include "cli/table.hpp"
#include "cli/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace norite::cli {
namespace {

Json to_json(const DeviceInfo& info) {
  return {{"id", info.id},
          {"backend", info.backend},
          {"name", info.name},
          {"details", info.details},
          {"memory_bytes", info.memory_bytes},
          {"usable", info.usable},
          {"computes", info.computes},
          {"threads", info.threads},
          {"limits",
           {{"max_buffer_bytes", info.limits.max_buffer_bytes},
            {"max_threads_per_group", info.limits.max_threads_per_group},
            {"max_group_memory_bytes", info.limits.max_group_memory_bytes}}}};
}

std::string memory_text(int64_t bytes) {
  return bytes > 0 ? fmt::format("{:.1f} GiB", static_cast<double>(bytes) / 0x1p30)
                   : std::string(kNothing);
}

void print_table(const std::vector<DeviceInfo>& infos) {
  Table table({{"id"}, {"name"}, {"details"}, {"memory", Align::right}});
  for (const DeviceInfo& info : infos) {
    if (!info.usable) continue;
    const Tone tone = info.computes ? Tone::plain : Tone::faint;
    table.add({{info.id, info.computes ? Tone::strong : Tone::faint},
               {info.name, tone},
               {info.details, tone},
               {memory_text(info.memory_bytes), tone}});
  }
  table.print();
}

/// A line each: reasons are too long for a table.
void print_unusable(const std::vector<DeviceInfo>& infos) {
  bool first = !std::ranges::any_of(infos, &DeviceInfo::usable);
  for (const DeviceInfo& info : infos) {
    if (info.usable) continue;
    const std::string named = info.name.empty() ? "" : fmt::format(" ({})", info.name);
    fmt::print("{}  {}{} cannot be used: {}\n", std::exchange(first, false) ? "" : "\n", info.id,
               named, info.details);
  }
}

/// Those that --device and --threads ask for, else all.
Result<std::vector<DeviceInfo>> list_devices(const Options& options) {
  if (options.device.empty() && options.threads == 0) return Device::list();
  NORITE_TRY_ASSIGN(const Device device,
                    Device::open(options.device, {.threads = options.threads}));
  return std::vector{device.info()};
}

/// Those of them that the filter keeps, by id or name.
Result<std::vector<DeviceInfo>> find_devices(const Options& options) {
  NORITE_TRY_ASSIGN(std::vector<DeviceInfo> infos, list_devices(options));
  std::erase_if(infos, [&](const DeviceInfo& info) {
    return info.id.find(options.filter) == info.id.npos &&
           info.name.find(options.filter) == info.name.npos;
  });
  if (!infos.empty()) return infos;
  return fail(Code::invalid_argument,
              fmt::format("no device's id or name contains '{}'", options.filter));
}

}  // namespace

ExitCode devices(const Options& options) {
  const auto infos = find_devices(options);
  if (!infos) return report(infos.error());
  if (!options.json) {
    if (std::ranges::any_of(*infos, &DeviceInfo::usable)) print_table(*infos);
    print_unusable(*infos);
    return ExitCode::ok;
  }
  Json list = Json::array();
  for (const DeviceInfo& info : *infos) list.push_back(to_json(info));
  print_json({{"schema_version", kSchemaVersion}, {"devices", list}});
  return ExitCode::ok;
}

}  // namespace norite::cli
