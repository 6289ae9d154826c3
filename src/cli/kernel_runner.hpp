// SPDX-License-Identifier: MIT
#pragma once

#include "cli/kernel_file.hpp"
#include "cli/kernel_launch.hpp"

namespace norite::cli {

struct KernelTiming {
  double time_us_p50 = 0;
  size_t repeats = 0;
};

/// A kernel with its memory, ready to run again and again.
class KernelRunner {
 public:
  /// Fills the kernel's buffers and compiles it.
  static Result<KernelRunner> make(const Device& device, Launch launch, const KernelFile& file);

  /// The time of the dispatch alone, in microseconds.
  Result<double> run();
  /// The median of runs that all begin with the same memory; a progress line where that takes
  /// long, unless `quiet`.
  Result<KernelTiming> measure(bool quiet);

  /// The buffer bound at that index, if any.
  [[nodiscard]] const Buffer* find_buffer(int64_t index) const;

 private:
  KernelRunner(Device device, Launch launch)
      : device_(std::move(device)), launch_(std::move(launch)) {}
  Result<double> run_afresh();

  Device device_;
  Launch launch_;
  Pipeline pipeline_;
  std::map<int64_t, ArgumentBuffer> buffers_;
};

}  // namespace norite::cli
