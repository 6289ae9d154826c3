// SPDX-License-Identifier: MIT
#include "core/dispatch_check.hpp"

#include <fmt/format.h>

namespace norite::core {

namespace {

template <class... T>
tl::unexpected<Error> refuse(std::string_view label, fmt::format_string<T...> format,
                             T&&... values) {
  return fail(Code::invalid_argument,
              fmt::format("{}: {}", label, fmt::format(format, std::forward<T>(values)...)));
}

tl::unexpected<Error> refuse_size(std::string_view label, const Parameter& parameter,
                                  int64_t bytes) {
  return refuse(label, "argument \"{}\" has {} bytes, expected at least {}", parameter.name, bytes,
                parameter.min_bytes);
}

Result<void> check_constants(std::string_view label, const Parameter& parameter,
                             const Argument& argument) {
  if (parameter.access != Access::bytes && !parameter.constants_allowed) {
    return refuse(label, "argument \"{}\" is constants, expected a view", parameter.name);
  }
  const auto bytes = static_cast<int64_t>(argument.constants().size());
  if (bytes < parameter.min_bytes) return refuse_size(label, parameter, bytes);
  return {};
}

Result<void> check_view(std::string_view label, const Parameter& parameter, const View& view,
                        const Backend& backend) {
  if (parameter.access == Access::bytes) {
    return refuse(label, "argument \"{}\" is a view, expected constants", parameter.name);
  }
  if (&view.buffer().storage()->backend() != &backend) {
    return refuse(
        label,
        "argument \"{}\" is memory of another device (each Device::open() makes one), expected {}",
        parameter.name, backend.info().id);
  }
  if (parameter.access != Access::read && view.buffer().storage()->read_only()) {
    return refuse(label, "argument \"{}\" is read-only memory, expected memory to write to",
                  parameter.name);
  }
  if (parameter.access != Access::read && view.layout().repeats_itself) {
    return refuse(label,
                  "argument \"{}\" is written with strides {} over shape {}, expected ones that "
                  "reach no element twice",
                  parameter.name, to_string(view.strides()), to_string(view.shape()));
  }
  const ByteRuns& touched = view.layout().touched;
  const int64_t bytes = touched.end - touched.begin;
  if (bytes < parameter.min_bytes) return refuse_size(label, parameter, bytes);
  return {};
}

Result<void> check_argument(std::string_view label, size_t position, const Parameter& parameter,
                            const Argument& argument, const Backend& backend) {
  if (parameter.access == Access::none) {
    if (!argument.bound()) return {};
    return refuse(label, "there is an argument at position {}, expected none", position);
  }
  if (!argument.bound()) {
    if (parameter.optional) return {};
    return refuse(label, "argument \"{}\" is not bound, expected {}", parameter.name,
                  parameter.access == Access::bytes ? "constants" : "a view");
  }
  return argument.constants().empty() ? check_view(label, parameter, argument.view(), backend)
                                      : check_constants(label, parameter, argument);
}

Result<void> check_extents(std::string_view label, const Grid& grid) {
  const bool ragged = grid.total != std::array<int64_t, 3>{};
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t groups = grid.groups[axis];
    const int64_t threads = grid.threads[axis];
    if (groups < 1 || threads < 1) {
      return refuse(label,
                    "the grid has {} groups of {} threads along axis {}, expected at least one of "
                    "each",
                    groups, threads, axis);
    }
    const int64_t total = grid.total[axis];
    if (ragged && (total < 1 || (total - 1) / threads + 1 != groups)) {
      return refuse(label,
                    "the grid has {} threads along axis {}, expected {} groups of {}, the last of "
                    "them in part at most",
                    total, axis, groups, threads);
    }
  }
  return {};
}

Result<void> check_threads(std::string_view label, const Grid& grid, int64_t limit) {
  int64_t threads = 1;
  for (const int64_t extent : grid.threads) {
    if (__builtin_mul_overflow(threads, extent, &threads) || threads > limit) {
      return refuse(label, "{} x {} x {} threads a group, expected at most {}", grid.threads[0],
                    grid.threads[1], grid.threads[2], limit);
    }
  }
  return {};
}

Result<void> check_threadgroup_memory(std::string_view label, const GridRules& rules,
                                      const Grid& grid, int64_t limit) {
  const auto& slots = rules.threadgroup_slots;
  if (grid.threadgroup_memory.size() > slots.size()) {
    return refuse(label, "{} sizes of threadgroup memory, expected at most {}",
                  grid.threadgroup_memory.size(), slots.size());
  }
  int64_t sum = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const int64_t bytes = i < grid.threadgroup_memory.size() ? grid.threadgroup_memory[i] : 0;
    const bool wanted = !slots[i].empty();
    if (bytes < 0 || wanted != (bytes > 0)) {
      return refuse(label, "[[threadgroup({})]] {} has {} bytes, expected {}", i,
                    wanted ? slots[i] : "(not an argument)", bytes, wanted ? "more than 0" : "0");
    }
    if (__builtin_add_overflow(sum, bytes, &sum) || sum > limit) {
      return refuse(label,
                    "{} bytes of threadgroup memory up to [[threadgroup({})]] {}, expected at most "
                    "{}",
                    sum, i, slots[i], limit);
    }
  }
  return {};
}

}  // namespace

Result<void> check_arguments(std::string_view label, const Pipeline& pipeline,
                             std::span<const Argument> arguments, const Backend& backend) {
  const auto& parameters = pipeline.state()->parameters();
  if (arguments.size() > parameters.size()) {
    return refuse(label, "{} arguments, expected at most {}", arguments.size(), parameters.size());
  }
  const Argument unbound;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Argument& argument = i < arguments.size() ? arguments[i] : unbound;
    NORITE_TRY(check_argument(label, i, parameters[i], argument, backend));
  }
  return {};
}

Result<void> check_grid(std::string_view label, const Pipeline& pipeline, const Grid& grid,
                        const Backend& backend) {
  NORITE_TRY(check_extents(label, grid));
  const auto& rules = pipeline.state()->grid_rules();
  if (!rules) return {};
  const DeviceLimits& limits = backend.info().limits;
  const int64_t own = rules->max_threads_per_group;
  const int64_t most =
      own > 0 && own < limits.max_threads_per_group ? own : limits.max_threads_per_group;
  NORITE_TRY(check_threads(label, grid, most));
  NORITE_TRY(check_threadgroup_memory(label, *rules, grid, limits.max_group_memory_bytes));
  const auto launches = backend.check_grid(grid);
  if (!launches) return refuse(label, "{}", launches.error().message);
  return {};
}

}  // namespace norite::core
