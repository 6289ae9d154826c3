// SPDX-License-Identifier: MIT
#include "cli/json_output.hpp"
#include "cli/kernel.hpp"
#include "cli/kernel_file.hpp"
#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace norite::cli {
namespace {

Json to_json(const std::vector<KernelArgument>& arguments) {
  Json list = Json::array();
  for (const KernelArgument& argument : arguments) {
    list.push_back({{"index", argument.index},
                    {"name", argument.name},
                    {"address_space", argument.address_space},
                    {"type", argument.type},
                    {"const", argument.read_only},
                    {"gate", argument.gate.empty() ? Json(nullptr) : Json(argument.gate)}});
  }
  return list;
}

Json to_json(const std::string& file, const KernelFileInfo& info) {
  Json kernels = Json::array();
  for (const KernelInfo& kernel : info.kernels) {
    const int64_t limit = kernel.max_threads_per_group;
    kernels.push_back({{"name", kernel.name},
                       {"place", kernel.place},
                       {"max_threads_per_group", limit > 0 ? Json(limit) : Json(nullptr)},
                       {"buffers", to_json(kernel.buffers)},
                       {"threadgroup", to_json(kernel.threadgroup_slots)}});
  }
  Json constants = Json::array();
  for (const FunctionConstantInfo& constant : info.constants) {
    constants.push_back(
        {{"index", constant.index}, {"name", constant.name}, {"type", constant.type}});
  }
  return {{"schema_version", kSchemaVersion},
          {"file", file},
          {"kernels", kernels},
          {"constants", constants}};
}

void add_rows(Table& table, std::string_view kind, const std::vector<KernelArgument>& arguments,
              bool gated) {
  for (const KernelArgument& argument : arguments) {
    const std::string access = argument.read_only ? "read" : "read, write";
    std::vector<Cell> row = {fmt::to_string(argument.index), std::string(kind), argument.name,
                             argument.address_space,         argument.type,     access};
    if (gated) row.emplace_back(argument.gate);
    table.add(std::move(row));
  }
}

void print_kernel(const KernelInfo& kernel) {
  fmt::print("\n{}  {}", paint(kernel.name, Tone::strong), paint(kernel.place, Tone::faint));
  if (kernel.max_threads_per_group > 0) {
    fmt::print("  at most {} threads a group", kernel.max_threads_per_group);
  }
  fmt::print("\n");
  if (kernel.buffers.empty() && kernel.threadgroup_slots.empty()) {
    fmt::print("  no arguments\n");
    return;
  }
  const auto is_gated = [](const KernelArgument& argument) { return !argument.gate.empty(); };
  const bool gated = std::ranges::any_of(kernel.buffers, is_gated) ||
                     std::ranges::any_of(kernel.threadgroup_slots, is_gated);
  std::vector<Column> columns = {{"index", Align::right}, {"kind"}, {"name"},
                                 {"address space"},       {"type"}, {"access"}};
  if (gated) columns.push_back({"only with"});
  Table table(std::move(columns));
  add_rows(table, "buffer", kernel.buffers, gated);
  add_rows(table, "threadgroup", kernel.threadgroup_slots, gated);
  table.print();
}

void print_text(const std::string& file, const KernelFileInfo& info) {
  const size_t count = info.kernels.size();
  fmt::print("{}: {} kernel{}\n", file, count, count == 1 ? "" : "s");
  for (const KernelInfo& kernel : info.kernels) print_kernel(kernel);
  if (info.constants.empty()) return;
  fmt::print("\n{}\n", paint("Function constants", Tone::strong));
  Table table({{"index", Align::right}, {"name"}, {"type"}});
  for (const FunctionConstantInfo& constant : info.constants) {
    table.add({fmt::format("{}", constant.index), constant.name, constant.type});
  }
  table.print();
}

}  // namespace

ExitCode kernel_list(const KernelOptions& options) {
  const auto file = load_kernel_file(options);
  if (!file) return report(file.error());
  const auto info = inspect_kernels(file->text, file->defines);
  if (!info) return report_kernel(info.error());
  options.common.json ? print_json(to_json(options.file, *info)) : print_text(options.file, *info);
  return ExitCode::ok;
}

}  // namespace norite::cli
