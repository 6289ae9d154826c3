// SPDX-License-Identifier: MIT
#include "cases/values.hpp"
#include "cli/json_output.hpp"
#include "cli/kernel.hpp"
#include "cli/kernel_file.hpp"
#include "cli/kernel_launch.hpp"
#include "cli/kernel_runner.hpp"
#include "cli/kernel_values.hpp"
#include "cli/table.hpp"
#include "cli/text.hpp"

#include <norite/npy.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace norite::cli {
namespace {

constexpr int64_t kShownValues = 8;

/// A buffer that the kernel may write to, after its first run.
struct Output {
  KernelArgument argument;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<double> first;  ///< the first values
  std::string saved = {};     ///< the path, where it was saved
};

struct RunReport {
  DeviceInfo device;
  std::string kernel;
  bool checked = false;
  std::vector<Output> outputs = {};
  std::optional<KernelTiming> timing = {};
};

Result<std::vector<double>> first_values(const Buffer& buffer) {
  const int64_t size = size_of(buffer.dtype());
  const int64_t count = std::min(buffer.count(), kShownValues);
  std::vector<std::byte> bytes(static_cast<size_t>(count * size));
  NORITE_TRY(buffer.read(bytes));
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(cases::decode(buffer.dtype(), bytes.data() + i * size));
  }
  return values;
}

Result<void> save(const Buffer& buffer, const std::string& path) {
  NpyArray array{buffer.dtype(), buffer.shape(),
                 std::vector<std::byte>(static_cast<size_t>(buffer.size_bytes()))};
  NORITE_TRY(buffer.read(array.data));
  return write_npy(path, array);
}

Result<std::vector<Output>> collect_outputs(const KernelRunner& runner, const Launch& launch) {
  std::vector<Output> outputs;
  for (const KernelArgument& argument : launch.kernel.buffers) {
    const Buffer* buffer = runner.find_buffer(argument.index);
    if (argument.read_only || buffer == nullptr) continue;
    Output output{argument, buffer->dtype(), buffer->shape(), {}};
    NORITE_TRY_ASSIGN(output.first, first_values(*buffer));
    if (const auto path = launch.saves.find(argument.index); path != launch.saves.end()) {
      NORITE_TRY(save(*buffer, path->second));
      output.saved = path->second;
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

/// The device that the options name; what only the CPU does chooses it.
Result<Device> open_device_for(const KernelOptions& options) {
  Options common = options.common;
  if (options.checked || options.time_limit_s) {
    NORITE_TRY_ASSIGN(common, on_cpu(common, options.checked ? "--checked" : "--time-limit"));
  }
  return open_device(common, {.checked = options.checked,
                              .guard_buffers = true,
                              .kernel_time_limit_seconds =
                                  options.time_limit_s.value_or(kDefaultTimeLimitSeconds)});
}

Result<RunReport> run(const KernelOptions& options) {
  NORITE_TRY_ASSIGN(const KernelFile file, load_kernel_file(options));
  NORITE_TRY_ASSIGN(const KernelFileInfo info, inspect_kernels(file.text, file.defines));
  NORITE_TRY_ASSIGN(const Launch launch, plan_launch(options, info));
  NORITE_TRY_ASSIGN(const Device device, open_device_for(options));
  NORITE_TRY(check_limits(launch, device.info()));
  NORITE_TRY_ASSIGN(KernelRunner runner, KernelRunner::make(device, launch, file));
  NORITE_TRY(runner.run());
  RunReport report{device.info(), launch.kernel.name, options.checked};
  NORITE_TRY_ASSIGN(report.outputs, collect_outputs(runner, launch));
  if (options.time) {
    NORITE_TRY_ASSIGN(report.timing, runner.measure(/*quiet=*/options.common.json));
  }
  return report;
}

Json to_json(const RunReport& report) {
  Json outputs = Json::array();
  for (const Output& output : report.outputs) {
    Json first = Json::array();
    for (const double value : output.first) {
      first.push_back(is_float(output.dtype) ? number_or_null(value)
                                             : Json(static_cast<int64_t>(value)));
    }
    outputs.push_back({{"index", output.argument.index},
                       {"name", output.argument.name},
                       {"dtype", name(output.dtype)},
                       {"shape", std::vector<int64_t>(output.shape.begin(), output.shape.end())},
                       {"first", first},
                       {"saved", output.saved.empty() ? Json(nullptr) : Json(output.saved)}});
  }
  Json document = {{"schema_version", kSchemaVersion},
                   {"device", report.device.id},
                   {"kernel", report.kernel},
                   {"checked", report.checked},
                   {"outputs", outputs}};
  if (report.timing) {
    document["time_us_p50"] = report.timing->time_us_p50;
    document["repeats"] = report.timing->repeats;
  }
  return document;
}

std::string values_text(const Output& output) {
  std::vector<std::string> texts;
  for (const double value : output.first) texts.push_back(value_text(output.dtype, value));
  const bool more = output.shape.count().value_or(0) > kShownValues;
  return fmt::format("{}{}", fmt::join(texts, "  "), more ? "  …" : "");
}

void print_values(const RunReport& report) {
  if (report.outputs.empty()) {
    fmt::print("{} writes to no buffer\n", report.kernel);
    return;
  }
  Table table({{"index", Align::right}, {"name"}, {"dtype"}, {"shape"}, {"first values"}});
  for (const Output& output : report.outputs) {
    table.add({fmt::to_string(output.argument.index), output.argument.name,
               std::string(name(output.dtype)), shape_text(output.shape), values_text(output)});
  }
  table.print();
}

void print_text(const RunReport& report, const KernelOptions& options) {
  if (options.saves.empty()) print_values(report);
  for (const Output& output : report.outputs) {
    if (output.saved.empty()) continue;
    fmt::print("saved {}: {} {} to {}\n", output.argument.name, name(output.dtype),
               to_string(output.shape), output.saved);
  }
  if (report.checked) fmt::print("checked: no mistakes found\n");
  if (report.timing) {
    fmt::print("time: {}, median of {} runs on {}\n", time_text(report.timing->time_us_p50),
               report.timing->repeats, report.device.id);
  }
}

}  // namespace

ExitCode kernel_run(const KernelOptions& options) {
  const auto result = run(options);
  if (!result) return report_kernel(result.error());
  options.common.json ? print_json(to_json(*result)) : print_text(*result, options);
  return ExitCode::ok;
}

}  // namespace norite::cli
