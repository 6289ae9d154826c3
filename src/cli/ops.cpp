// SPDX-License-Identifier: MIT
#include "cases/case.hpp"
#include "cli/json_output.hpp"
#include "cli/table.hpp"
#include "cli/verbs.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace norite::cli {
namespace {

using cases::Case;

/// Whether a backend runs an operation on a dtype, and how many cases verify it.
struct Support {
  std::string op;
  DType dtype;
  std::string backend;
  bool supported;
  size_t cases;
};

std::vector<std::string> operations(const Options& options) {
  std::vector<std::string> names;
  for (const Case& row : cases::all_cases()) {
    const bool seen = std::find(names.begin(), names.end(), row.op) != names.end();
    if (!seen && row.op.find(options.filter) != std::string::npos) names.push_back(row.op);
  }
  return names;
}

/// Asks the device itself: a supported operation can be recorded.
bool can_record(const Device& device, const Case& row) {
  const auto problem = row.prepare(device, cases::FillKind::normal);
  if (!problem) return false;
  Encoder encoder = device.encoder();
  return (*problem)->encode(encoder).has_value();
}

Support support_of(const Device& device, const std::string& op, DType dtype) {
  auto rows = cases::of_operation(cases::verify_suites(device), op);
  std::erase_if(rows, [&](const Case* row) { return row->dtype != dtype; });
  const bool supported = !rows.empty() && can_record(device, *rows.front());
  return {op, dtype, device.info().backend, supported, rows.size()};
}

Result<std::vector<Device>> computing_devices(const Options& options) {
  if (!options.device.empty()) {
    NORITE_TRY_ASSIGN(Device device, open_device(options));
    return std::vector{device};
  }
  std::vector<Device> devices;
  for (const DeviceInfo& info : Device::list()) {
    if (!info.computes) continue;
    NORITE_TRY_ASSIGN(Device device, Device::open(info.id, {.threads = options.threads}));
    devices.push_back(std::move(device));
  }
  return devices;
}

void print_table(const std::vector<std::string>& names, const std::vector<Device>& devices,
                 const std::vector<Support>& matrix, bool markdown) {
  std::vector<Column> columns = {{"operation"}};
  for (const Device& device : devices) {
    for (const DType dtype : kFloatDTypes) {
      columns.push_back({fmt::format("{} {}", device.info().backend, name(dtype))});
    }
  }
  columns.push_back({"cases", Align::right});
  Table table(columns);
  const size_t cells_per_row = columns.size() - 2;
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<Cell> row = {markdown ? fmt::format("`{}`", names[i]) : names[i]};
    size_t cases = 0;
    for (size_t j = 0; j < cells_per_row; ++j) {
      const Support& support = matrix[i * cells_per_row + j];
      row.push_back(support.supported ? Cell("✓", Tone::good) : Cell("–", Tone::faint));
      if (j < kFloatDTypes.size()) cases += support.cases;
    }
    row.push_back(fmt::format("{}", cases));
    table.add(std::move(row));
  }
  markdown ? table.print_markdown() : table.print();
}

Json to_json(const std::vector<Support>& matrix) {
  Json results = Json::array();
  for (const Support& support : matrix) {
    results.push_back({{"op", support.op},
                       {"dtype", name(support.dtype)},
                       {"backend", support.backend},
                       {"supported", support.supported},
                       {"cases", support.cases}});
  }
  return {{"schema_version", kSchemaVersion}, {"results", results}};
}

}  // namespace

ExitCode ops(const Options& options) {
  const std::vector<std::string> names = operations(options);
  if (names.empty()) {
    return report_usage(fmt::format("no operation's name contains '{}'", options.filter));
  }
  const auto devices = computing_devices(options);
  if (!devices) return report(devices.error());
  std::vector<Support> matrix;
  for (const std::string& op : names) {
    for (const Device& device : *devices) {
      for (const DType dtype : kFloatDTypes) matrix.push_back(support_of(device, op, dtype));
    }
  }
  if (options.json) {
    print_json(to_json(matrix));
  } else {
    print_table(names, *devices, matrix, options.markdown);
  }
  return ExitCode::ok;
}

}  // namespace norite::cli
