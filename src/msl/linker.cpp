// SPDX-License-Identifier: MIT
#include "msl/linker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/subprocess.hpp"

namespace norite::msl {

namespace {

using Arguments = std::vector<std::string>;

constexpr std::string_view kObject = "norite-object";
constexpr std::array<std::string_view, 2> kLibraries = {"-lm", "-lc"};

/// What begins with a space and a quote is a command; the last one links.
std::string_view last_command(std::string_view answer) {
  const size_t begin = answer.rfind("\n \"");
  if (begin == std::string_view::npos) return {};
  const std::string_view line = answer.substr(begin + 1);
  return line.substr(0, line.find('\n'));
}

/// `"/usr/bin/ld" "-o" "a \"b\""`, as clang prints it for shells.
Arguments quoted_arguments(std::string_view line) {
  Arguments arguments;
  bool inside = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      inside = !inside;
      if (inside) arguments.emplace_back();
    } else if (inside) {
      if (line[i] == '\\' && i + 1 < line.size()) ++i;
      arguments.back() += line[i];
    }
  }
  return arguments;
}

}  // namespace

std::vector<std::string> Linker::question() {
  Arguments question = {"-###", "-shared", "-nostartfiles", "-nodefaultlibs", "-o"};
  question.emplace_back(kObject);
  question.insert(question.end(), kLibraries.begin(), kLibraries.end());
  return question;
}

std::optional<Linker> Linker::from_answer(std::string_view answer) {
  Arguments call = quoted_arguments(last_command(answer));
  const auto object = std::find(call.begin(), call.end(), kObject);
  if (object == call.end()) return std::nullopt;
  const auto libraries = std::search(object, call.end(), kLibraries.begin(), kLibraries.end());
  if (libraries == call.end()) return std::nullopt;

  call.front() = core::find_program(call.front());
  if (call.front().empty()) return std::nullopt;
  return Linker(Arguments(call.begin(), object), Arguments(object + 1, libraries));
}

std::vector<std::string> Linker::call(const std::string& relocatable_path,
                                      const std::string& object_path,
                                      const Arguments& after) const {
  Arguments call = before_;
  call.push_back(object_path);
  call.insert(call.end(), between_.begin(), between_.end());
  call.push_back(relocatable_path);
  call.insert(call.end(), after.begin(), after.end());
  return call;
}

Result<void> Linker::link(const std::string& relocatable_path, const std::string& object_path,
                          std::chrono::milliseconds time_limit) const {
  // Most kernels call nothing, and reading the libraries is most of linking.
  const Arguments nothing = {"-z", "defs"};
  const Arguments libraries(kLibraries.begin(), kLibraries.end());
  std::string log;
  for (const Arguments& after : {nothing, libraries}) {
    NORITE_TRY_ASSIGN(auto result,
                      core::run({.arguments = call(relocatable_path, object_path, after),
                                 .time_limit = time_limit}));
    if (result.timed_out) {
      return fail(Code::timeout,
                  fmt::format("the linker was stopped after {} ms", time_limit.count()),
                  std::move(result.output));
    }
    if (result.status == 0) return {};
    log = std::move(result.output);
  }
  return fail(Code::compile_failed, "the linker refused the kernel", std::move(log));
}

}  // namespace norite::msl
