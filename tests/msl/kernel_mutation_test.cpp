// SPDX-License-Identifier: MIT
// A test of checked mode: with any one barrier deleted from any of our kernels, it must find the
// race that the barrier prevents.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cases/case.hpp"
#include "core/builtin_kernels.hpp"
#include "core/device_state.hpp"
#include "core/kernel_files.hpp"
#include "support.hpp"

namespace norite {
namespace {

using test::must;

constexpr std::string_view kBarrier = "threadgroup_barrier(mem_flags::mem_threadgroup);";

std::string_view kernel_file(std::string_view path) {
  for (const core::EmbeddedFile& file : core::kernel_files()) {
    if (file.path == path) return file.text;
  }
  return {};
}

/// A kernel's text with the headers of kernels/ in place of their #include lines, each once.
std::string flattened(std::string_view path, std::set<std::string>& seen) {
  if (!seen.insert(std::string(path)).second) return {};
  std::string result;
  std::string_view rest = kernel_file(path);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    if (line.starts_with("#include \"")) {
      const std::string_view name = line.substr(10);
      result += flattened(name.substr(0, name.find('"')), seen);
    } else if (!line.starts_with("#pragma once")) {
      result += line;
    }
    rest.remove_prefix(end);
  }
  return result;
}

struct Mutant {
  std::string kernel;
  std::string text;
};

/// Each portable kernel once for each barrier in its text, headers included, without that barrier.
std::vector<Mutant> mutants() {
  std::vector<Mutant> result;
  for (const core::EmbeddedFile& file : core::kernel_files()) {
    if (!file.path.ends_with(".metal") || file.path.starts_with("cuda/")) continue;
    std::set<std::string> seen;
    const std::string text = flattened(file.path, seen);
    const size_t slash = file.path.rfind('/') + 1;
    const std::string kernel(file.path.substr(slash, file.path.size() - slash - 6));
    for (size_t at = text.find(kBarrier); at != std::string::npos;
         at = text.find(kBarrier, at + 1)) {
      std::string mutated = text;
      mutated.replace(at, kBarrier.size(), std::string(kBarrier.size(), ' '));
      result.push_back({kernel, std::move(mutated)});
    }
  }
  return result;
}

/// A checked device whose kernels are ours, but for the one that is given.
Device device_with(const Mutant& mutant) {
  for (const core::BackendEntry& entry : core::backend_table()) {
    if (entry.name != "cpu") continue;
    auto backend = must(entry.open(0, {.builtins = BuiltinForm::text, .checked = true}));
    auto state = std::make_shared<core::DeviceState>(std::move(backend));
    for (const core::BuiltinKernel& kernel : core::builtin_kernels()) {
      std::string text = mutant.text;
      if (kernel.name != mutant.kernel) {
        for (const core::EmbeddedFile& file : core::kernel_files()) {
          if (file.path.ends_with("/" + kernel.name + ".metal")) text = file.text;
        }
      }
      must(state->registry().register_source(core::KernelSource{kernel.name, text, true}));
    }
    return core::DeviceState::handle(state);
  }
  throw std::runtime_error("no cpu backend");
}

/// Whether checked mode stops one of the cases that run the kernel.
bool is_caught(const Device& device, const std::string& kernel) {
  const std::string op = kernel == "sum_partials" ? "rms_norm_backward" : kernel;
  const auto all = cases::select(cases::kVerify, op + "[f32");
  for (const cases::Case* one : all) {
    const auto problem = must(one->prepare(device, cases::FillKind::normal));
    const Result<void> ran = problem->run();
    if (!ran) return ran.error().code == Code::check_failed;
  }
  return false;
}

TEST(KernelMutation, EveryMissingBarrierIsFound) {
  const std::vector<Mutant> all = mutants();
  ASSERT_GE(all.size(), 5U);
  for (const Mutant& mutant : all) {
    EXPECT_TRUE(is_caught(device_with(mutant), mutant.kernel))
        << mutant.kernel << " without a barrier passed:\n";
  }
}

}  // namespace
}  // namespace norite
