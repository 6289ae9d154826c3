// SPDX-License-Identifier: MIT
// What tests of the executor share: small kernels in C++ on the bare interface between a compiled
// kernel and the executor, and a way to run them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/msl/compile.hpp"
#include "backends/cpu/msl/dispatch.hpp"
#include "support.hpp"

namespace norite::test {

/// A folder that goes with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Ranges on threads of their own, dealt out in turn.
class ThreadsCall final : public NativeCall {
 public:
  explicit ThreadsCall(int threads = 1) : NativeCall({}, Grid{}), threads_(threads) {}
  void run_ranges(int64_t count, int64_t grain, const RangeBody& body) const override;

 private:
  int threads_;
};

/// Complete text for the executor. `body` is that of a function with `place` (ThreadPlace),
/// `buffer(type, index)` and `slot(type, index)`, and may call barrier(scopes),
/// simd_barrier(scopes), simd_sum(int), simd_active(), poll() and VARIABLE(type, name). Its first
/// line is k.metal:1.
std::string kernel_text(const std::string& body);

/// Compiles into the cache that tests share.
std::shared_ptr<cpu::msl::KernelObject> kernel(const std::string& body, bool checked = false);

template <class T>
cpu::msl::BufferBinding bind(unsigned index, std::vector<T>& values, bool read_only = false) {
  return {.index = index,
          .data = values.data(),
          .bytes = values.size() * sizeof(T),
          .read_only = read_only,
          .name = ""};
}

}  // namespace norite::test
