// SPDX-License-Identifier: MIT
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace norite::test {

/// What came back from a run of the command.
struct CommandResult {
  int exit_code = -1;
  std::string out;
  std::string err;

  /// stdout as JSON; discarded (`is_discarded()`) where it is anything else.
  [[nodiscard]] nlohmann::json json() const;
};

/// Runs `norite ARGUMENTS` through the shell, with `environment` ("NAME=value ...") before it.
CommandResult run_norite(const std::string& arguments, const std::string& environment = {});

/// A file in the test's temporary folder, removed with this object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& contents);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path);

}  // namespace norite::test
