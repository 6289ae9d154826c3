// SPDX-License-Identifier: MIT
#include "msl/toolchain.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "core/env.hpp"
#include "core/subprocess.hpp"

namespace norite::msl {

namespace {

constexpr int kOldestClang = 16;  // _Float16 and __bf16 on x86-64 without AVX-512
// Homebrew keeps its own out of the search path; Apple's may be older than its number says.
constexpr const char* kCandidates[] = {"clang++-19",
                                       "clang++-20",
                                       "clang++-21",
                                       "/opt/homebrew/opt/llvm/bin/clang++",
                                       "/usr/local/opt/llvm/bin/clang++",
                                       "clang++"};
constexpr size_t kMaxLogBytes = size_t{8} << 20;
constexpr std::string_view kInstall = "apt-get install clang-19, or brew install llvm";

// "Debian clang version 19.1.7 (3~deb12u1)" → 19; 0 for what is no clang.
int major_version(std::string_view words) {
  constexpr std::string_view kMark = "clang version ";
  const size_t mark = words.find(kMark);
  if (mark == std::string_view::npos) return 0;
  return std::atoi(std::string(words.substr(mark + kMark.size(), 4)).c_str());
}

bool has_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
#else
  return false;
#endif
}

/// Kernels call little but mathematics and memcpy; where the processor converts half itself,
/// nothing of the compiler's own either.
bool needs_few_libraries() {
#if defined(__linux__)
  return has_avx2();
#else
  return false;
#endif
}

Result<std::string> ask(const std::string& path, const std::vector<std::string>& question) {
  std::vector<std::string> arguments = {path};
  arguments.insert(arguments.end(), question.begin(), question.end());
  NORITE_TRY_ASSIGN(auto answer, core::run({.arguments = std::move(arguments),
                                            .time_limit = std::chrono::seconds(20)}));
  const int major = answer.status == 0 ? major_version(answer.output) : 0;
  if (major < kOldestClang) {
    return fail(Code::unsupported,
                fmt::format("{} is no clang {} or later; {}", path, kOldestClang, kInstall));
  }
  return std::move(answer.output);
}

// Where a compiler would be looked for; while it stays, so does the answer.
struct Question {
  std::optional<std::string> wanted;
  std::string search_path;
  bool operator==(const Question&) const = default;
};

tl::unexpected<Error> timed_out(const core::Subprocess& clang, std::string log) {
  const auto limit = std::chrono::duration_cast<std::chrono::seconds>(clang.time_limit);
  return fail(Code::timeout, fmt::format("clang was stopped after {} s", limit.count()),
              std::move(log));
}

/// A file that other programs read or write, for as long as this lives.
class TemporaryFile {
 public:
  static TemporaryFile at(std::string path) { return TemporaryFile(std::move(path)); }
  static Result<TemporaryFile> with(std::string_view text) {
    std::string path = core::env::temporary_folder() + "/norite-XXXXXX";
    const int descriptor = ::mkstemp(path.data());
    if (descriptor < 0) {
      return fail(Code::unavailable, fmt::format("{}: {}", path, std::strerror(errno)));
    }
    TemporaryFile file(std::move(path));
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      text.remove_prefix(static_cast<size_t>(written));
    }
    const bool whole = ::close(descriptor) == 0 && text.empty();
    if (!whole) return fail(Code::unavailable, fmt::format("cannot write {}", file.path_));
    return file;
  }
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

}  // namespace

Result<Toolchain> Toolchain::at(const std::string& path) {
  if (needs_few_libraries()) {
    if (const auto answer = ask(path, Linker::question())) {
      const size_t commands = std::min(answer->find("\n \""), answer->size() - 1) + 1;
      return Toolchain(path, answer->substr(0, commands), Linker::from_answer(*answer));
    }
  }
  // A script around clang may answer no more than this.
  NORITE_TRY_ASSIGN(auto version, ask(path, {"--version"}));
  return Toolchain(path, std::move(version), std::nullopt);
}

Result<Toolchain> Toolchain::find() {
  static std::mutex mutex;
  static std::optional<std::pair<Question, Toolchain>> known;
  const std::scoped_lock lock(mutex);

  const Question question = {core::env::clang(), core::env::search_path()};
  if (known && known->first == question) return known->second;

  std::string reason;
  const auto try_one = [&](const std::string& name) {
    const std::string path = core::find_program(name);
    if (path.empty()) return false;
    auto toolchain = Toolchain::at(path);
    if (toolchain) {
      known.emplace(question, *std::move(toolchain));
    } else {
      reason = std::move(toolchain.error().message);
    }
    return toolchain.has_value();
  };
  if (question.wanted) {
    if (try_one(*question.wanted)) return known->second;
    if (reason.empty()) reason = "there is no such program";
    return fail(Code::unsupported,
                fmt::format("NORITE_CLANG is \"{}\": {}", *question.wanted, reason));
  }
  for (const char* candidate : kCandidates) {
    if (try_one(candidate)) return known->second;
  }
  return fail(Code::unsupported,
              reason.empty() ? fmt::format("kernel text needs clang++ {} or later, and none is "
                                           "installed; {}",
                                           kOldestClang, kInstall)
                             : reason);
}

Result<void> Toolchain::run(std::string_view text, std::vector<std::string> arguments) const {
  NORITE_TRY_ASSIGN(const TemporaryFile file, TemporaryFile::with(text));
  arguments.insert(arguments.begin(), path_);
  const core::Subprocess clang{.arguments = std::move(arguments), .input_path = file.path()};
  NORITE_TRY_ASSIGN(auto result, core::run(clang));
  if (result.timed_out) return timed_out(clang, std::move(result.output));
  constexpr int kKilled = 128 + SIGKILL;
  if (result.status == kKilled) {
    return fail(Code::out_of_memory,
                "clang was killed while it compiled the kernel, as happens when memory runs out");
  }
  if (result.status != 0) {
    return fail(Code::compile_failed, "clang refused the kernel", std::move(result.output));
  }
  return {};
}

Result<void> Toolchain::compile(std::string_view text, const std::string& object_path,
                                std::vector<std::string> flags) const {
  if (!linker_) {
    flags.insert(flags.end(), {"-shared", "-o", object_path, "-", "-lm", "-lc"});
    return run(text, std::move(flags));
  }
  const TemporaryFile relocatable = TemporaryFile::at(object_path + ".o");
  flags.insert(flags.end(), {"-c", "-o", relocatable.path(), "-"});
  NORITE_TRY(run(text, std::move(flags)));
  return linker_->link(relocatable.path(), object_path);
}

Result<void> Toolchain::compile_after(const std::string& precompiled_path, std::string_view text,
                                      const std::string& object_path,
                                      std::vector<std::string> flags) const {
  // Nobody reads warnings about text that compiles, and wording them takes time.
  flags.insert(flags.end(), {"-include-pch", precompiled_path, "-w"});
  return compile(text, object_path, std::move(flags));
}

Result<void> Toolchain::precompile(std::string_view text, const std::string& precompiled_path,
                                   std::vector<std::string> flags) const {
  flags.insert(flags.end(), {"-x", "c++-header", "-o", precompiled_path, "-"});
  return run(text, std::move(flags));
}

Result<std::string> Toolchain::examine(std::string_view text,
                                       const std::vector<std::string>& flags) const {
  NORITE_TRY_ASSIGN(const TemporaryFile file, TemporaryFile::with(text));
  core::Subprocess clang{
      .arguments = {path_}, .input_path = file.path(), .max_output_bytes = kMaxLogBytes};
  clang.arguments.insert(clang.arguments.end(), flags.begin(), flags.end());
  clang.arguments.insert(clang.arguments.end(), {"-fsyntax-only", "-"});
  NORITE_TRY_ASSIGN(auto result, core::run(clang));
  if (result.timed_out) return timed_out(clang, std::move(result.output));
  return std::move(result.output);
}

std::vector<std::string> language_flags() {
  std::vector<std::string> flags = {
      "-x", "c++", "-std=c++17", "-nostdinc", "-nostdinc++", "-fno-rtti", "-ffp-contract=off",
      "-fno-exceptions", "-fno-math-errno", "-fno-strict-aliasing", "-fwrapv",
      // As Metal's, on Arm too.
      "-fsigned-char",
      // A large frame must not step over the guard page of its strand.
      "-fstack-clash-protection",
      // Calls at which lanes meet must not be copied.
      "-fconvergent-functions",
      // Out of range saturates and NaN gives 0, as on GPUs.
      "-fno-strict-float-cast-overflow",
      // Loops around SIMD operations are not unrolled.
      "-Wno-pass-failed",
      // half and bfloat round after each operation.
      "-Xclang", "-ffloat16-excess-precision=none", "-Xclang", "-fbfloat16-excess-precision=none"};
  if (has_avx2()) flags.emplace_back("-march=x86-64-v3");
  return flags;
}

// Which address spaces there are depends on the target: this one has them all, on every machine.
std::vector<std::string> lint_flags() {
  return {"--target=x86_64-linux-gnu", "-x", "clcpp", "-cl-std=clc++2021", "-cl-no-stdinc"};
}

std::vector<std::string> compile_flags(bool checked) {
  std::vector<std::string> flags = language_flags();
  flags.insert(flags.end(), {"-fPIC", "-fvisibility=hidden"});
  if (!checked) {
    flags.emplace_back("-O2");
    return flags;
  }
  // ThreadSanitizer's instrumentation, without its runtime: the kernel's text answers its calls.
  // Accesses wider than 16 bytes would go unseen, hence no vectorisation.
  for (const char* flag :
       {"-O1", "-fno-vectorize", "-fno-slp-vectorize", "-fsanitize=thread",
        "-fno-sanitize-link-runtime", "-mllvm", "-tsan-instrument-read-before-write=1", "-mllvm",
        "-tsan-instrument-func-entry-exit=0", "-gline-tables-only", "-fdebug-compilation-dir=.",
        "-DNORITE_MSL_CHECKED"}) {
    flags.emplace_back(flag);
  }
  return flags;
}

}  // namespace norite::msl
