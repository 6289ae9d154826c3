// SPDX-License-Identifier: MIT
// The table of operations in the README is what the command prints.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "command.hpp"

namespace norite {
namespace {

std::string printed_table() {
  const auto result = test::run_norite("ops --markdown --device cpu");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

/// What stands between the mark and the next empty line.
std::string readme_table() {
  constexpr std::string_view kMark = "<!-- norite ops --markdown -->\n";
  const auto root = std::filesystem::path(NORITE_TEST_DATA).parent_path().parent_path();
  std::ostringstream contents;
  contents << std::ifstream(root / "README.md").rdbuf();
  const std::string text = std::move(contents).str();
  const size_t mark = text.find(kMark);
  EXPECT_NE(mark, std::string::npos);
  const size_t begin = mark + kMark.size();
  return text.substr(begin, text.find("\n\n", begin) + 1 - begin);
}

TEST(Readme, HasTheTableThatTheCommandPrints) { EXPECT_EQ(readme_table(), printed_table()); }

}  // namespace
}  // namespace norite
