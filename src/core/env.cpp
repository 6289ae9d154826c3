// SPDX-License-Identifier: MIT
#include "core/env.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace norite::core::env {

namespace {

// An empty variable counts as unset, as a shell's `NAME= command` means it.
std::optional<std::string> read(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

// Those that are set.
std::vector<std::string> read_all(std::initializer_list<const char*> names) {
  std::vector<std::string> values;
  for (const char* name : names) {
    if (auto value = read(name)) values.push_back(*std::move(value));
  }
  return values;
}

// From 1 to `most`.
Result<std::optional<int>> read_number(const char* name, int most) {
  const auto text = read(name);
  if (!text) return std::nullopt;
  int number = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || number < 1 || number > most) {
    return fail(Code::invalid_argument,
                fmt::format("{} is \"{}\", expected 1 to {}", name, *text, most));
  }
  return number;
}

}  // namespace

std::optional<std::string> device() { return read("NORITE_DEVICE"); }

std::optional<std::string> cpu_target() { return read("NORITE_CPU_TARGET"); }

std::optional<std::string> clang() { return read("NORITE_CLANG"); }

std::optional<std::string> cuda_library() { return read("NORITE_CUDA_LIBRARY"); }

std::optional<std::string> nvrtc() { return read("NORITE_NVRTC"); }

std::optional<std::string> metal_runtime() { return read("NORITE_METAL_RUNTIME"); }

bool cuda_launch_blocking() { return read("CUDA_LAUNCH_BLOCKING") == "1"; }

std::vector<std::string> cuda_roots() { return read_all({"CUDA_HOME", "CUDA_PATH"}); }

std::vector<std::string> python_prefixes() {
  auto prefixes = read_all({"VIRTUAL_ENV", "CONDA_PREFIX"});
  if (const auto home = read("HOME")) prefixes.push_back(*home + "/.local");
  return prefixes;
}

std::optional<std::string> cache_folder() {
  if (auto folder = read("NORITE_CACHE_DIR")) return folder;
  if (const auto folder = read("XDG_CACHE_HOME")) return *folder + "/norite";
  const auto home = read("HOME");
  if (!home) return std::nullopt;
#ifdef __APPLE__
  return *home + "/Library/Caches/norite";
#else
  return *home + "/.cache/norite";
#endif
}

std::string temporary_folder() { return read("TMPDIR").value_or("/tmp"); }

std::string search_path() { return read("PATH").value_or("/usr/local/bin:/usr/bin:/bin"); }

Result<std::optional<int>> num_threads() { return read_number("NORITE_NUM_THREADS", 1024); }

Result<std::optional<int>> cpu_l1_kib() { return read_number("NORITE_CPU_L1_KIB", kMostL1Kib); }

}  // namespace norite::core::env
