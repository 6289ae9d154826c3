// SPDX-License-Identifier: MIT
#include "graph/rebind.hpp"

#include <fmt/format.h>

#include "core/device_state.hpp"
#include "core/footprint.hpp"
#include "graph/program.hpp"
#include "graph/rebase.hpp"

namespace norite::graph {

namespace {

template <class... Args>
tl::unexpected<Error> refuse(fmt::format_string<Args...> text, Args&&... args) {
  return fail(Code::invalid_argument,
              fmt::format("graph rebind: {}", fmt::format(text, std::forward<Args>(args)...)));
}

/// Where the view begins modulo what kernels' plans look at.
int64_t alignment(const View& view) {
  constexpr int64_t kBytes = 16;
  const auto* data = view.host_data();
  const auto address = data != nullptr ? static_cast<int64_t>(reinterpret_cast<uintptr_t>(data))
                                       : view.byte_offset();
  return address % kBytes;
}

Result<void> check_alike(const Device& device, const View& view, const View& other) {
  if (!view || !other) {
    return refuse("{} is not given, expected a view", view ? "the replacement" : "the view");
  }
  if (&other.buffer().storage()->backend() != &device.state()->backend()) {
    return refuse("the replacement is memory of another device, expected {}", device.info().id);
  }
  if (view.dtype() != other.dtype()) {
    return refuse("the replacement has dtype {}, expected {}", name(other.dtype()),
                  name(view.dtype()));
  }
  if (view.shape() != other.shape()) {
    return refuse("the replacement has shape {}, expected {}", to_string(other.shape()),
                  to_string(view.shape()));
  }
  if (view.strides() != other.strides()) {
    return refuse("the replacement has strides {}, expected {}", to_string(other.strides()),
                  to_string(view.strides()));
  }
  if (alignment(view) != alignment(other)) {
    return refuse("the replacement begins {} bytes past a multiple of 16, expected {}",
                  alignment(other), alignment(view));
  }
  return {};
}

/// How an argument's memory lies to that of the view.
enum class Place : uint8_t { elsewhere, inside, across };

Place place_of(const View& argument, const View& view) {
  const core::Footprint part = core::footprint(argument), whole = core::footprint(view);
  if (!core::may_overlap(part, whole)) return Place::elsewhere;
  const bool within = whole.begin <= part.begin && part.end <= whole.end;
  const bool inside = within && (whole.pitch == 0 || core::same_view(argument, view));
  return inside ? Place::inside : Place::across;
}

/// Which arguments are the view's; whether one of them is written, and whether others use the
/// replacement.
struct Survey {
  int64_t inside = 0;
  bool written = false;
  bool other_used = false, other_written = false;
};

Result<Survey> survey(std::span<const core::Command> commands, const View& view,
                      const View& other) {
  Survey result;
  for (const core::Command& command : commands) {
    const Node node(command);
    for (size_t i = 0; i < command.arguments.size(); ++i) {
      const View& argument = command.arguments[i].view();
      if (!argument) continue;
      const bool writes = core::writes(node.access(i));
      switch (place_of(argument, view)) {
        case Place::across:
          return refuse("{} uses memory that the view covers in part, expected all of it",
                        command.label);
        case Place::inside:
          ++result.inside;
          result.written = result.written || writes;
          break;
        case Place::elsewhere:
          if (core::may_meet(argument, other)) {
            result.other_used = true;
            result.other_written = result.other_written || writes;
          }
      }
    }
  }
  return result;
}

}  // namespace

Result<void> rebind(const Device& device, std::span<core::Command> commands, const View& view,
                    const View& other) {
  NORITE_TRY(check_alike(device, view, other));
  NORITE_TRY_ASSIGN(const Survey found, survey(commands, view, other));
  if (found.inside == 0) {
    return fail(Code::not_found, "graph rebind: the graph does not use the view");
  }
  if (found.written && other.buffer().storage()->read_only()) {
    return refuse("the replacement is read-only memory, expected memory to write to");
  }
  // The order of the operations is right for the memory that they share now, and no other.
  if (found.other_used && (found.written || found.other_written)) {
    return refuse("the graph uses the replacement's memory already, expected other memory");
  }
  const int64_t shift = other.byte_offset() - view.byte_offset();
  for (core::Command& command : commands) {
    for (Argument& argument : command.arguments) {
      if (argument.view() && place_of(argument.view(), view) == Place::inside) {
        argument = rebase(argument.view(), other.buffer(), shift);
      }
    }
  }
  return {};
}

}  // namespace norite::graph
