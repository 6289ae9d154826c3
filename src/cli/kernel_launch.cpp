// SPDX-License-Identifier: MIT
#include "cli/kernel_launch.hpp"

#include "cli/kernel_entry.hpp"
#include "cli/kernel_syntax.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace norite::cli {
namespace {

using ByIndex = std::map<int64_t, std::string>;

tl::unexpected<Error> refuse(std::string message) {
  return fail(Code::invalid_argument, std::move(message));
}

/// "device float* x"
std::string describe(const KernelArgument& argument) {
  return fmt::format("{} {} {}", argument.address_space, argument.type, argument.name);
}

const KernelArgument* find(const std::vector<KernelArgument>& arguments, int64_t index) {
  const auto found = std::ranges::find_if(
      arguments, [&](const KernelArgument& argument) { return argument.index == index; });
  return found == arguments.end() ? nullptr : &*found;
}

/// The values of an option that is given once for each index, "INDEX=..." or "INDEX:...".
Result<ByIndex> by_index(std::string_view option, const std::vector<std::string>& values,
                         char separator = '=') {
  ByIndex result;
  for (const std::string& value : values) {
    const auto in_place = [&](Error error) { return in_option(option, value, std::move(error)); };
    NORITE_TRY_ASSIGN(const auto parts, split_assignment(value, separator).map_error(in_place));
    NORITE_TRY_ASSIGN(const int64_t index, parse_integer(parts.first, 0).map_error(in_place));
    if (!result.emplace(index, parts.second).second) {
      return refuse(fmt::format("{} {}: index {} is given twice", option, value, index));
    }
  }
  return result;
}

/// Every index is one that the kernel has.
template <class Value>
Result<void> check_known(std::string_view option, const std::map<int64_t, Value>& given,
                         std::string_view attribute, const std::vector<KernelArgument>& arguments,
                         std::string_view kernel) {
  for (const auto& [index, value] : given) {
    if (find(arguments, index) != nullptr) continue;
    std::string has;
    for (const KernelArgument& argument : arguments) {
      has += fmt::format("\n  {}  {}", argument.index, describe(argument));
    }
    return refuse(fmt::format("{} {}: kernel '{}' has no [[{}({})]]{}{}", option, index, kernel,
                              attribute, index, has.empty() ? "" : "; it has:", has));
  }
  return {};
}

/// What the kernel takes and the command line leaves out. Arguments that hang on a function
/// constant are left to the pipeline, which knows its value.
Result<void> check_complete(const Launch& launch, const ByIndex& slots) {
  std::string missing;
  const auto add = [&](const KernelArgument& argument, std::string_view option) {
    missing += fmt::format("\n  {}  for {}", option, describe(argument));
  };
  for (const KernelArgument& argument : launch.kernel.buffers) {
    if (argument.gate.empty() && !launch.arguments.contains(argument.index)) {
      add(argument, fmt::format("--arg {}=SPEC", argument.index));
    }
  }
  for (const KernelArgument& slot : launch.kernel.threadgroup_slots) {
    if (slot.gate.empty() && !slots.contains(slot.index)) {
      add(slot, fmt::format("--threadgroup-memory {}:BYTES", slot.index));
    }
  }
  if (missing.empty()) return {};
  return refuse(fmt::format("kernel '{}' also needs:{}", launch.kernel.name, missing));
}

Result<Grid> parse_grid(const KernelOptions& options) {
  if (options.groups.empty() == options.grid.empty()) {
    return refuse(options.grid.empty() ? "--groups or --grid must say how large the grid is"
                                       : "--groups and --grid exclude each other");
  }
  if (options.threads.empty()) return refuse("--threads must say how many threads a group has");
  const auto extents = [](std::string_view option, const std::string& text) {
    return parse_extents(text).map_error(
        [&](Error error) { return in_option(option, text, std::move(error)); });
  };
  NORITE_TRY_ASSIGN(const auto threads, extents("--threads", options.threads));
  if (!options.grid.empty()) {
    NORITE_TRY_ASSIGN(const auto total, extents("--grid", options.grid));
    return Grid::of_threads(total, threads);
  }
  Grid grid{.threads = threads};
  NORITE_TRY_ASSIGN(grid.groups, extents("--groups", options.groups));
  return grid;
}

Result<void> add_arguments(Launch& launch, const KernelOptions& options) {
  NORITE_TRY_ASSIGN(const ByIndex specs, by_index("--arg", options.arguments));
  NORITE_TRY(check_known("--arg", specs, "buffer", launch.kernel.buffers, launch.kernel.name));
  for (const auto& [index, text] : specs) {
    NORITE_TRY_ASSIGN(ArgumentSpec spec, parse_argument(text).map_error([&](Error error) {
      return in_option("--arg", fmt::format("{}={}", index, text), std::move(error));
    }));
    const KernelArgument& argument = *find(launch.kernel.buffers, index);
    if (std::holds_alternative<BytesArgument>(spec) && !argument.read_only) {
      return refuse(
          fmt::format("--arg {}={}: the kernel may write to {}; constants cannot be "
                      "written to, take zeros:... or a file",
                      index, text, describe(argument)));
    }
    launch.arguments.emplace(index, std::move(spec));
  }
  return {};
}

Result<ByIndex> add_threadgroup_memory(Launch& launch, const KernelOptions& options) {
  constexpr std::string_view kOption = "--threadgroup-memory";
  const auto& slots = launch.kernel.threadgroup_slots;
  NORITE_TRY_ASSIGN(ByIndex sizes, by_index(kOption, options.threadgroup_memory, ':'));
  NORITE_TRY(check_known(kOption, sizes, "threadgroup", slots, launch.kernel.name));
  for (const auto& [index, text] : sizes) {
    NORITE_TRY_ASSIGN(const int64_t bytes, parse_integer(text, 1).map_error([&](Error error) {
      return in_option(kOption, fmt::format("{}:{}", index, text), std::move(error));
    }));
    const auto slot = static_cast<size_t>(index);
    auto& memory = launch.grid.threadgroup_memory;
    memory.resize(std::max(memory.size(), slot + 1));
    memory[slot] = bytes;
  }
  return sizes;
}

Result<void> add_saves(Launch& launch, const KernelOptions& options) {
  NORITE_TRY_ASSIGN(launch.saves, by_index("--save", options.saves));
  NORITE_TRY(
      check_known("--save", launch.saves, "buffer", launch.kernel.buffers, launch.kernel.name));
  for (const auto& [index, path] : launch.saves) {
    const std::string place = fmt::format("--save {}={}", index, path);
    const KernelArgument& argument = *find(launch.kernel.buffers, index);
    if (!launch.arguments.contains(index)) {
      return refuse(fmt::format("{}: no --arg {} is given", place, index));
    }
    if (argument.read_only) {
      return refuse(fmt::format("{}: the kernel never writes to {}", place, describe(argument)));
    }
    const auto folder = std::filesystem::absolute(path).parent_path();
    if (!std::filesystem::is_directory(folder)) {
      return refuse(fmt::format("{}: there is no folder {}", place, folder.string()));
    }
  }
  return {};
}

Result<void> add_constants(Launch& launch, const KernelOptions& options,
                           const KernelFileInfo& file) {
  for (const std::string& text : options.constants) {
    NORITE_TRY_ASSIGN(auto parts, split_assignment(text).map_error([&](Error error) {
      return in_option("--constant", text, std::move(error));
    }));
    const auto names = [&](const FunctionConstantInfo& constant) {
      return constant.name == parts.first || fmt::to_string(constant.index) == parts.first;
    };
    const auto found = std::ranges::find_if(file.constants, names);
    if (found == file.constants.end()) {
      std::string has;
      for (const auto& constant : file.constants) {
        has += fmt::format("\n  {}  {} {}", constant.index, constant.type, constant.name);
      }
      return refuse(fmt::format("--constant {}: {} has no such function constant{}{}", text,
                                options.file, has.empty() ? "" : "; it has:", has));
    }
    if (!launch.constants.emplace(found->name, std::move(parts.second)).second) {
      return refuse(fmt::format("--constant {}: {} is given twice", text, found->name));
    }
  }
  return {};
}

}  // namespace

Result<Launch> plan_launch(const KernelOptions& options, const KernelFileInfo& file) {
  Launch launch;
  NORITE_TRY_ASSIGN(launch.kernel, find_entry(options, file));
  NORITE_TRY_ASSIGN(launch.grid, parse_grid(options));
  NORITE_TRY(add_arguments(launch, options));
  NORITE_TRY_ASSIGN(const ByIndex slots, add_threadgroup_memory(launch, options));
  NORITE_TRY(check_complete(launch, slots));
  NORITE_TRY(add_saves(launch, options));
  NORITE_TRY(add_constants(launch, options, file));
  return launch;
}

Result<void> check_limits(const Launch& launch, const DeviceInfo& device) {
  int64_t limit = device.limits.max_threads_per_group;
  std::string why = fmt::format("{} runs", device.id);
  if (launch.kernel.max_threads_per_group > 0 && launch.kernel.max_threads_per_group < limit) {
    limit = launch.kernel.max_threads_per_group;
    why = fmt::format("kernel '{}' allows", launch.kernel.name);
  }
  // One factor at a time: the product of three may pass 2^63.
  int64_t threads = 1;
  for (const int64_t extent : launch.grid.threads) {
    if (extent > limit / threads) {
      return refuse(fmt::format("--threads {}: that is more than the {} threads in a group that {}",
                                fmt::join(launch.grid.threads, ","), limit, why));
    }
    threads *= extent;
  }
  int64_t left = device.limits.max_group_memory_bytes;
  for (const int64_t bytes : launch.grid.threadgroup_memory) {
    if (bytes > left) {
      return refuse(fmt::format("--threadgroup-memory: a group of {} has at most {} bytes",
                                device.id, device.limits.max_group_memory_bytes));
    }
    left -= bytes;
  }
  return {};
}

}  // namespace norite::cli
