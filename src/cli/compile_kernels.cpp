// SPDX-License-Identifier: MIT
#include "cli/compile_kernels.hpp"

#include "cli/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace norite::cli {
namespace {

using cases::Case;

constexpr std::chrono::milliseconds kLook{20};
constexpr size_t kMostThreads = 32;  // compilers take memory

/// Recording is what compiles; nothing is submitted.
void record(const Device& device, const Case& row) {
  const auto problem = row.prepare(device, cases::FillKind::none);
  if (!problem) return;
  Encoder encoder = device.encoder();
  (void)(*problem)->encode(encoder);
}

bool runs_text(const Device& device) { return !device.registry().native_pipeline("rms_norm"); }

/// One line on stderr, once something has to be compiled: rewritten on a terminal and gone at the
/// end, said once elsewhere.
class Announcement {
 public:
  Announcement(std::string device, bool quiet) : device_(std::move(device)), quiet_(quiet) {}
  ~Announcement() {
    if (shown_ && is_terminal(stderr)) fmt::print(stderr, "{}", kEraseLine);
  }
  Announcement(const Announcement&) = delete;
  Announcement& operator=(const Announcement&) = delete;

  void update(int64_t built, size_t done, size_t total) {
    if (quiet_ || built == 0) return;
    if (is_terminal(stderr)) {
      fmt::print(stderr, "{}[{}/{}] compiling kernels for {}: {}", kEraseLine, done, total, device_,
                 built);
    } else if (!shown_) {
      fmt::print(stderr, "compiling kernels for {}, which takes minutes when there are many\n",
                 device_);
    }
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  std::string device_;
  bool quiet_;
  bool shown_ = false;
};

}  // namespace

void compile_kernels(const Device& device, const std::vector<const Case*>& rows, bool quiet) {
  if (!runs_text(device) || rows.empty()) return;
  std::atomic<size_t> next = 0, done = 0;
  const auto work = [&] {
    for (size_t i = next++; i < rows.size(); i = next++) {
      record(device, *rows[i]);
      ++done;
    }
  };
  const int64_t before = device.registry().built_count();
  std::vector<std::thread> threads;
  const size_t cores = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  for (size_t i = 0; i < std::min(cores, rows.size()); ++i) threads.emplace_back(work);

  Announcement announcement(device.info().id, quiet);
  while (done < rows.size()) {
    std::this_thread::sleep_for(kLook);
    announcement.update(device.registry().built_count() - before, done, rows.size());
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace norite::cli
