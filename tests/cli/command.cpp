// SPDX-License-Identifier: MIT
#include "command.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace norite::test {
namespace {

/// Tests may run side by side: the process id keeps their files apart.
std::string temporary_path(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path();
  return (folder / fmt::format("norite_cli_test_{}_{}", getpid(), name)).string();
}

}  // namespace

nlohmann::json CommandResult::json() const { return nlohmann::json::parse(out, nullptr, false); }

CommandResult run_norite(const std::string& arguments, const std::string& environment) {
  const std::string out = temporary_path("stdout");
  const std::string err = temporary_path("stderr");
  const std::string line =
      fmt::format("{} '{}' {} >'{}' 2>'{}'", environment, NORITE_CLI_PATH, arguments, out, err);
  const int status = std::system(line.c_str());
  CommandResult result{.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                       .out = read_file(out),
                       .err = read_file(err)};
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return result;
}

TemporaryFile::TemporaryFile(const std::string& name, const std::string& contents)
    : path_(temporary_path(name)) {
  std::ofstream(path_, std::ios::binary) << contents;
}

TemporaryFile::~TemporaryFile() { std::filesystem::remove(path_); }

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  contents << file.rdbuf();
  return contents.str();
}

}  // namespace norite::test
