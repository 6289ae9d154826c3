// SPDX-License-Identifier: MIT
#include "cli/kernel_runner.hpp"

#include "cli/terminal.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

namespace norite::cli {
namespace {

constexpr size_t kMinRepeats = 5;
constexpr double kMinSeconds = 0.5;
/// Shorter work needs no progress line.
constexpr double kPatienceSeconds = 2;

}  // namespace

Result<KernelRunner> KernelRunner::make(const Device& device, Launch launch,
                                        const KernelFile& file) {
  KernelRunner runner(device, std::move(launch));
  // The files first: a wrong name should not wait for the compiler.
  for (const auto& [index, spec] : runner.launch_.arguments) {
    NORITE_TRY_ASSIGN(runner.buffers_[index], ArgumentBuffer::make(device, spec, index));
  }
  const std::string& entry = runner.launch_.kernel.name;
  KernelRegistry& registry = device.registry();
  // A name of its own, since the file's kernel may be called as one of the library's is.
  const std::string name = entry + " of " + file.text.file;
  KernelText text = file.text;
  text.entry = entry;
  NORITE_TRY(registry.register_source(name, std::move(text)));
  NORITE_TRY_ASSIGN(runner.pipeline_,
                    registry.get_pipeline({name, file.defines, runner.launch_.constants}));
  return runner;
}

Result<double> KernelRunner::run() {
  std::vector<Argument> arguments;
  for (const auto& [index, argument] : buffers_) {
    arguments.resize(static_cast<size_t>(index));  // what lies between stays unbound
    arguments.emplace_back(argument.buffer);
  }
  Encoder encoder = device_.encoder({.timing = Timing::whole});
  NORITE_TRY(encoder.dispatch(pipeline_, arguments, launch_.grid));
  NORITE_TRY(encoder.submit_and_wait());
  const auto timings = encoder.timings();
  return timings.empty() ? 0 : timings.front().duration_us;
}

Result<double> KernelRunner::run_afresh() {
  for (auto& [index, argument] : buffers_) NORITE_TRY(argument.reset());
  return run();
}

Result<KernelTiming> KernelRunner::measure(bool quiet) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::optional<Progress> progress;
  std::vector<double> times;
  double elapsed_s = 0;
  while (times.size() < kMinRepeats || elapsed_s < kMinSeconds) {
    if (elapsed_s > kPatienceSeconds) {
      if (!progress) progress.emplace(kMinRepeats - times.size(), quiet);
      progress->next("timing " + launch_.kernel.name);
    }
    NORITE_TRY_ASSIGN(const double time_us, run_afresh());
    times.push_back(time_us);
    elapsed_s = std::chrono::duration<double>(Clock::now() - start).count();
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return KernelTiming{*middle, times.size()};
}

const Buffer* KernelRunner::find_buffer(int64_t index) const {
  const auto found = buffers_.find(index);
  return found == buffers_.end() ? nullptr : &found->second.buffer;
}

}  // namespace norite::cli
