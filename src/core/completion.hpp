// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "norite/encoder.hpp"
#include "norite/error.hpp"

namespace norite::core {

/// How one submit ended, for whoever waits for it.
class Completion {
 public:
  void complete(Result<void> result, std::vector<DispatchTiming> timings = {});
  [[nodiscard]] Result<void> wait() const;
  [[nodiscard]] bool done() const;
  [[nodiscard]] std::vector<DispatchTiming> timings() const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool done_ = false;
  Result<void> result_;
  std::vector<DispatchTiming> timings_;
};

}  // namespace norite::core
