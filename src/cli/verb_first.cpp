// SPDX-License-Identifier: MIT
#include "cli/verb_first.hpp"

#include <algorithm>
#include <string_view>

namespace norite::cli {
namespace {

constexpr std::string_view kThreads = "--threads";
constexpr std::string_view kWithValue[] = {"--device", kThreads, "--filter"};

/// How many arguments an option takes, itself included; 0 where it is none that verbs share.
size_t length_of(std::string_view argument) {
  if (argument == "--json") return 1;
  for (const std::string_view option : kWithValue) {
    if (argument == option) return 2;
    if (argument.starts_with(option) && argument.substr(option.size()).starts_with('=')) return 1;
  }
  return 0;
}

const CLI::App* find_verb(const CLI::App& app, const std::string& name) {
  const auto verbs =
      app.get_subcommands([&](const CLI::App* verb) { return verb->check_name(name); });
  return verbs.empty() ? nullptr : verbs.front();
}

}  // namespace

std::vector<std::string> verb_first(std::vector<std::string> arguments, const CLI::App& app) {
  size_t begin = 0;
  while (begin < arguments.size()) {
    const size_t length = length_of(arguments[begin]);
    if (length == 0) break;
    begin += length;
  }
  size_t end = begin;  // a verb may be two words: kernel run
  for (const CLI::App* verb = &app; end < arguments.size(); ++end) {
    verb = find_verb(*verb, arguments[end]);
    if (verb == nullptr) break;
  }
  const auto at = [&](size_t index) {
    return arguments.begin() + static_cast<std::ptrdiff_t>(index);
  };
  // To kernels, --threads are those of a group.
  const bool is_another = end > begin && arguments[begin] == "kernel" &&
                          std::any_of(at(0), at(begin), [](const std::string& argument) {
                            return argument.starts_with(kThreads);
                          });
  if (end > begin && !is_another) std::rotate(at(0), at(begin), at(end));
  return arguments;
}

}  // namespace norite::cli
