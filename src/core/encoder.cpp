// SPDX-License-Identifier: MIT
#include "norite/encoder.hpp"

#include <fmt/format.h>

#include "core/device_state.hpp"
#include "core/dispatch_check.hpp"
#include "core/hazards.hpp"
#include "core/recording.hpp"
#include "norite/device.hpp"

namespace norite {

struct Encoder::Impl {
  explicit Impl(Device on) : device(std::move(on)) {}

  [[nodiscard]] Result<void> check_recording(std::string_view label) const {
    NORITE_TRY(device.state()->check_open(label));
    if (capture) NORITE_TRY(capture->check(label));
    if (completion == nullptr) return {};
    return fail(Code::failed_precondition,
                fmt::format("{}: the encoder was submitted already; take a new one", label));
  }

  using HandOver = Result<void> (core::Backend::*)(core::CommandList,
                                                   std::shared_ptr<core::Completion>);
  Result<void> hand_over(std::string_view label, HandOver how) {
    NORITE_TRY(check_recording(label));
    if (capture) {
      return fail(Code::failed_precondition,
                  fmt::format("{}: the encoder captures a graph, which runs by its replay", label));
    }
    completion = std::make_shared<core::Completion>();
    ++counters.submits;
    auto result = (device.state()->backend().*how)(std::move(list), completion);
    // What the backend refused has ended as well: wait() then gives the same error.
    if (!result && !completion->done()) completion->complete(result);
    return result;
  }

  Device device;
  core::CommandList list;
  core::HazardTracker hazards;
  core::Accesses accesses;  // of the dispatch that is being recorded; keeps its memory for the next
  bool fenced = false;      // before what comes next
  std::shared_ptr<core::CaptureSession> capture;  // none: it records to be submitted
  EncoderCounters counters;
  std::shared_ptr<core::Completion> completion;  // set by submit
};

Encoder::Encoder(std::shared_ptr<core::DeviceState> device, const EncoderOptions& options)
    : impl_(std::make_unique<Impl>(core::DeviceState::handle(std::move(device)))) {
  impl_->list.timing = options.timing;
}

Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&&) noexcept = default;
Encoder& Encoder::operator=(Encoder&&) noexcept = default;

Result<void> Encoder::dispatch(const Pipeline& pipeline, std::span<const Argument> arguments,
                               const Grid& grid, std::string_view label) {
  return dispatch_owned(pipeline, std::vector<Argument>(arguments.begin(), arguments.end()), grid,
                        label);
}

Result<void> Encoder::dispatch_owned(const Pipeline& pipeline, std::vector<Argument>&& arguments,
                                     const Grid& grid, std::string_view label) {
  if (label.empty()) label = pipeline.name();
  NORITE_TRY(impl_->check_recording(label));
  const core::Backend& backend = impl_->device.state()->backend();
  if (!pipeline || pipeline.state()->backend() != &backend) {
    return fail(Code::invalid_argument,
                fmt::format("dispatch: the pipeline {}, expected one of {}",
                            pipeline ? "belongs to another device (each Device::open() makes one)"
                                     : "is empty",
                            backend.info().id));
  }
  NORITE_TRY(core::check_arguments(label, pipeline, arguments, backend));
  NORITE_TRY(core::check_grid(label, pipeline, grid, backend));

  core::Accesses& accesses = impl_->accesses;
  core::find_accesses(pipeline, arguments, accesses);
  const bool fence = std::exchange(impl_->fenced, false);
  const bool barrier = impl_->hazards.add(accesses) || fence;
  int64_t bytes_read = 0, bytes_written = 0;
  for (const auto& read : accesses.reads) bytes_read += read.bytes;
  for (const auto& write : accesses.writes) bytes_written += write.bytes;
  arguments.resize(pipeline.state()->parameters().size());
  std::string name(label);  // before there is a command: memory may run out
  core::Command& command = impl_->list.commands.emplace_back();
  command.label = std::move(name);
  command.pipeline = pipeline;
  command.arguments = std::move(arguments);
  command.grid = grid;
  command.barrier_before = barrier;
  command.fence_before = fence;
  command.bytes = bytes_read + bytes_written;

  ++impl_->counters.dispatches;
  impl_->counters.barriers += barrier ? 1 : 0;
  impl_->counters.bytes_read += bytes_read;
  impl_->counters.bytes_written += bytes_written;
  return {};
}

Result<void> Encoder::fence() {
  NORITE_TRY(impl_->check_recording("fence"));
  impl_->hazards.fence();
  impl_->fenced = !impl_->list.commands.empty();
  return {};
}

Result<Event> Encoder::submit() {
  NORITE_TRY(impl_->hand_over("submit", &core::Backend::submit));
  return Event(impl_->completion);
}

Result<void> Encoder::wait() {
  if (impl_->completion == nullptr) {
    return fail(Code::failed_precondition, "wait: the encoder was not submitted");
  }
  return impl_->completion->wait();
}

Result<void> Encoder::submit_and_wait() {
  return impl_->hand_over("submit_and_wait", &core::Backend::submit_and_wait);
}

EncoderCounters Encoder::counters() const noexcept { return impl_->counters; }

std::vector<DispatchTiming> Encoder::timings() const {
  if (impl_->completion == nullptr || !impl_->completion->done()) return {};
  return impl_->completion->timings();
}

const Device& Encoder::device() const noexcept { return impl_->device; }

namespace core {

Result<void> CaptureSession::check(std::string_view label) const {
  if (ended) {
    return fail(Code::failed_precondition,
                fmt::format("{}: the capture that the encoder belongs to has ended", label));
  }
  if (thread != std::this_thread::get_id()) {
    return fail(Code::failed_precondition,
                fmt::format("{}: a capture belongs to the thread that began it", label));
  }
  return {};
}

Encoder Recording::begin(const Device& device, std::shared_ptr<CaptureSession> session) {
  Encoder encoder = device.encoder();
  encoder.impl_->capture = std::move(session);
  return encoder;
}

Result<std::vector<Command>> Recording::take(Encoder& encoder) {
  if (encoder.impl_ == nullptr) {
    return fail(Code::failed_precondition, "capture: the encoder was moved away");
  }
  return std::move(encoder.impl_->list.commands);
}

}  // namespace core

}  // namespace norite
