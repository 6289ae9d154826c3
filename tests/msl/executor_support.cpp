// SPDX-License-Identifier: MIT
#include "msl/executor_support.hpp"

#include <fstream>
#include <set>

namespace norite::test {

namespace {

// The text of a kernel-side header, its local includes put in place, each once.
std::string header_text(const std::string& name, std::set<std::string>& seen) {
  if (!seen.insert(name).second) return "";
  std::ifstream file(NORITE_TEST_DATA "/../../src/msl/" + name);
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#include \"")) {
      text += header_text(line.substr(10, line.rfind('"') - 10), seen);
    } else if (!line.starts_with("#pragma once")) {
      text += line + '\n';
    }
  }
  return text;
}

std::string headers_text() {
  std::set<std::string> seen;
  return header_text("shim/cpu_lanes.h", seen) + header_text("shim/checked.h", seen);
}

constexpr const char* kPrologue = R"(
using namespace norite_msl;
#define barrier(scopes) meet_threadgroup(scopes)
#define simd_barrier(scopes) meet_simdgroup(scopes)
#define poll() poll_loop()
#define VARIABLE(type, name) \
  static ThreadgroupVariable name##_place; \
  auto& name = threadgroup_variable<type>(name##_place)
#define buffer(type, index) ((type*)arguments->buffer[index])
#define slot(type, index) ((type*)arguments->threadgroup[index])

NORITE_MSL_UNCHECKED static void sum_lanes(unsigned char* slots, unsigned active) {
  LaneValues<int> lanes{slots};
  int sum = 0;
  for (int i = 0; i < 32; ++i) sum += active >> i & 1 ? lanes.get(i) : 0;
  for (int i = 0; i < 32; ++i) if (active >> i & 1) lanes.set(i, sum);
}
static void leave_lanes(unsigned char*, unsigned) {}
NORITE_MSL_INLINE int simd_sum(int value) { return exchange_lanes(value, sum_lanes); }
NORITE_MSL_INLINE unsigned simd_active() {
  int value = 0;
  return meet_lanes(&value, sizeof value, leave_lanes);
}
static void run(const ThreadPlace* thread_place, const Arguments* arguments) {
  const ThreadPlace& place = *thread_place;
#line 1 "k.metal"
)";

constexpr const char* kEpilogue = R"(
  (void)place;
  (void)arguments;
}
extern "C" __attribute__((visibility("default"))) const Entry norite_msl_entry = {run, attach, {}};
)";

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "norite-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

void ThreadsCall::run_ranges(int64_t count, int64_t grain, const RangeBody& body) const {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < threads_; ++thread) {
    threads.emplace_back([=, &body, this] {
      for (int64_t begin = thread * grain; begin < count; begin += threads_ * grain) {
        body(begin, std::min(begin + grain, count));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::string kernel_text(const std::string& body) {
  return headers_text() + kPrologue + body + kEpilogue;
}

std::shared_ptr<cpu::msl::KernelObject> kernel(const std::string& body, bool checked) {
  static const auto cache = must(core::ObjectCache::open());
  auto object = cpu::msl::compile(cache, "k", kernel_text(body), checked);
  if (!object) throw std::runtime_error(object.error().message + "\n" + object.error().log);
  return *std::move(object);
}

}  // namespace norite::test
