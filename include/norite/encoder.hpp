// SPDX-License-Identifier: MIT
#pragma once

#include <norite/event.hpp>
#include <norite/kernel_registry.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace norite {

class Device;

namespace core {
class DeviceState;
class Recording;
}  // namespace core

/// What is measured, to be read with Encoder::timings() after the wait: by the device's clock where
/// it has one.
enum class Timing : uint8_t {
  none,
  each,   ///< every dispatch, which keeps GPUs from getting one ready while another ends
  whole,  ///< from the first one's start to the last one's end, with nothing added in between
};

struct EncoderOptions {
  Timing timing = Timing::none;
};

struct EncoderCounters {
  int64_t dispatches = 0;
  int64_t barriers = 0;  ///< points where a dispatch had to wait for earlier ones
  int64_t submits = 0;
  int64_t bytes_read = 0;     ///< bytes of all views that dispatches read
  int64_t bytes_written = 0;  ///< bytes of all views that dispatches write
};

struct DispatchTiming {
  std::string name;
  double start_us = 0;  ///< since the first dispatch of the submit began
  double duration_us = 0;
};

/// Records dispatches in order; nothing runs before submit(). Dispatches that touch the same bytes,
/// at least one of them writing, run in recorded order; others may run side by side. Which bytes a
/// dispatch touches follows from its views, so nothing is annotated by hand.
///
/// One encoder belongs to one thread and is submitted once. Buffers stay alive until the work ends.
class NORITE_API Encoder {
 public:
  Encoder(std::shared_ptr<core::DeviceState> device, const EncoderOptions& options);
  ~Encoder();
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;

  /// Records one dispatch. Arguments are matched to the pipeline's parameters by position. The
  /// label, if any, stands for the kernel's name in errors and timings. On an error nothing is
  /// recorded.
  [[nodiscard]] Result<void> dispatch(const Pipeline& pipeline, std::span<const Argument> arguments,
                                      const Grid& grid = {}, std::string_view label = {});
  /// The same with arguments that it takes over, which saves a copy.
  [[nodiscard]] Result<void> dispatch_owned(const Pipeline& pipeline,
                                            std::vector<Argument>&& arguments,
                                            const Grid& grid = {}, std::string_view label = {});

  /// Everything recorded so far ends before anything recorded from here on begins, whatever it
  /// touches: for effects that views do not show.
  [[nodiscard]] Result<void> fence();

  /// Hands the dispatches to the device. Work of earlier submits on the device comes first.
  [[nodiscard]] Result<Event> submit();
  /// Waits for the submitted work.
  [[nodiscard]] Result<void> wait();
  [[nodiscard]] Result<void> submit_and_wait();

  [[nodiscard]] EncoderCounters counters() const noexcept;
  /// Timing::each: an entry a dispatch, in recorded order. Timing::whole: one entry, unless nothing
  /// was recorded. Empty before the wait.
  [[nodiscard]] std::vector<DispatchTiming> timings() const;
  [[nodiscard]] const Device& device() const noexcept;

 private:
  friend class core::Recording;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace norite
