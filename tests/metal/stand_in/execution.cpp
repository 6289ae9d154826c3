// SPDX-License-Identifier: MIT
// Runs recorded work on the CPU device, and finds out where a barrier is missing.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "metal/stand_in/commands.hpp"
#include "metal/stand_in/settings.hpp"

namespace norite::stand_in {

namespace {

/// How far an encoder came, as an error tells it.
struct EncoderInfo : Instance {
  EncoderInfo(std::string name, std::vector<std::string> labels);
  std::vector<std::string> signposts;
};

Id debug_signposts(EncoderInfo* self, Sel) {
  std::vector<Hold<Instance>> strings;
  for (const std::string& signpost : self->signposts) {
    auto* const string = new String(signpost);
    strings.emplace_back(string);
    string->release();
  }
  return autoreleased(new Array(std::move(strings)));
}
NSInteger error_state(EncoderInfo*, Sel) { return metal::MTLCommandEncoderErrorStateFaulted; }

const ClassInfo kEncoderInfo = ClassInfo("MTLCommandBufferEncoderInfo", &kLabelled)
                                   .with("debugSignposts", debug_signposts)
                                   .with("errorState", error_state);

EncoderInfo::EncoderInfo(std::string name, std::vector<std::string> labels)
    : Instance(kEncoderInfo), signposts(std::move(labels)) {
  label = std::move(name);
}

using Dispatches = std::span<const Dispatch>;

Result<Argument> argument_of(const Device& machine, const Bound& bound) {
  if (bound.buffer != nullptr) {
    const auto end = static_cast<int64_t>(bound.buffer->length());
    return View(bound.buffer->memory).slice(0, static_cast<int64_t>(bound.offset), end);
  }
  NORITE_TRY_ASSIGN(norite::Buffer copy,
                    machine.empty(DType::u8, {static_cast<int64_t>(bound.bytes.size())}));
  NORITE_TRY(copy.write(bound.bytes));
  return Argument(copy);
}

Result<void> run(const Device& machine, const Dispatch& dispatch) {
  const norite::Pipeline& kernel = dispatch.pipeline->kernel;
  std::vector<Argument> arguments(kernel.parameters().size());
  for (const auto& [index, bound] : dispatch.bound) {
    if (index >= arguments.size()) continue;  // left over from another kernel
    const Parameter& parameter = kernel.parameters()[index];
    if (parameter.access == Access::none || parameter.optional) continue;
    NORITE_TRY_ASSIGN(arguments[index], argument_of(machine, bound));
  }
  Grid grid = dispatch.grid;
  for (const KernelArgument& slot : dispatch.pipeline->info.threadgroup_slots) {
    auto& memory = grid.threadgroup_memory;
    memory.resize(std::max<size_t>(memory.size(), slot.index + 1));
    memory[slot.index] = static_cast<int64_t>(dispatch.slots.at(slot.index));
  }
  norite::Encoder encoder = machine.encoder();
  NORITE_TRY(encoder.dispatch(kernel, arguments, grid));
  return encoder.submit_and_wait();
}

std::string names_of(Dispatches dispatches) {
  std::vector<std::string> names;
  for (const Dispatch& dispatch : dispatches) names.push_back(dispatch.signpost);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Buffers that several of the dispatches touch, one of them writing: those that a missing barrier
/// would show in.
std::vector<Buffer*> contended(Dispatches dispatches) {
  std::map<Buffer*, int> users;
  std::set<Buffer*> written;
  for (const Dispatch& dispatch : dispatches) {
    std::set<Buffer*> own;
    const auto& parameters = dispatch.pipeline->kernel.parameters();
    for (const auto& [index, bound] : dispatch.bound) {
      if (bound.buffer == nullptr || index >= parameters.size()) continue;
      if (parameters[index].access == Access::none || parameters[index].optional) continue;
      own.insert(bound.buffer);
      if (parameters[index].access != Access::read) written.insert(bound.buffer);
    }
    for (Buffer* buffer : own) ++users[buffer];
  }
  std::vector<Buffer*> result;
  bool any = false;
  for (const auto& [buffer, count] : users) any |= count > 1 && written.contains(buffer);
  if (any) result.assign(written.begin(), written.end());
  return result;
}

using Contents = std::vector<std::vector<std::byte>>;

Contents contents_of(const std::vector<Buffer*>& buffers) {
  Contents contents;
  for (const Buffer* buffer : buffers) {
    const std::byte* const data = buffer->memory.host_data();
    contents.emplace_back(data, data + buffer->length());
  }
  return contents;
}

void restore(const std::vector<Buffer*>& buffers, const Contents& contents) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::ranges::copy(contents[i], buffers[i]->memory.host_data());
  }
}

/// Dispatches between two barriers. Where they share what is written they run twice, the second
/// time backwards: if that gives other bytes, they needed an order that nothing promised.
Result<void> run_together(const Device& machine, Dispatches dispatches) {
  const std::vector<Buffer*> shared = contended(dispatches);
  const Contents before = contents_of(shared);
  for (const Dispatch& dispatch : dispatches) NORITE_TRY(run(machine, dispatch));
  if (shared.empty()) return {};
  const Contents forwards = contents_of(shared);
  restore(shared, before);
  for (size_t i = dispatches.size(); i > 0; --i) NORITE_TRY(run(machine, dispatches[i - 1]));
  if (contents_of(shared) == forwards) return {};
  breach(fmt::format("a barrier is missing between two of {}", names_of(dispatches)));
  return {};
}

Hold<Error> held(Error* error) {
  const Hold<Error> hold(error);
  error->release();
  return hold;
}

/// The failure that a test asked for, at the dispatch `last`.
Hold<Error> failure(const Pass& pass, size_t last) {
  const auto& settings = *stand_in_metal();
  auto error = held(new Error(settings.error_code, "the stand-in was told to fail"));
  if (!settings.blames) return error;
  std::vector<std::string> reached;
  for (size_t i = 0; i <= last; ++i) reached.push_back(pass.dispatches[i].signpost);
  auto* const info = new EncoderInfo(pass.label, std::move(reached));
  auto* const encoders = new Array({Hold<Instance>(info)});
  info->release();
  error->encoders = Hold<Array>(encoders);
  encoders->release();
  return error;
}

std::optional<size_t> told_to_fail(const Pass& pass) {
  const std::scoped_lock lock(books());
  auto& settings = *stand_in_metal();
  for (size_t i = 0; i < pass.dispatches.size(); ++i) {
    const std::string& name = pass.dispatches[i].signpost;
    settings.dispatched.push_back(name);
    if (!settings.failing_dispatch.empty() && name == settings.failing_dispatch) return i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Hold<Error>> run_pass(Gpu& gpu, const Pass& pass) {
  if (const auto last = told_to_fail(pass)) return failure(pass, *last);
  const Dispatches all = pass.dispatches;
  for (size_t first = 0; first < all.size();) {
    size_t end = first + 1;
    while (end < all.size() && !all[end].barrier_before) ++end;
    const auto ran = run_together(gpu.machine(), all.subspan(first, end - first));
    if (!ran) return held(new Error(1, ran.error().message));
    first = end;
  }
  return std::nullopt;
}

}  // namespace norite::stand_in
