// SPDX-License-Identifier: MIT
// The command on a terminal: colours, NO_COLOR and the progress line.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "command.hpp"

namespace norite {
namespace {

constexpr const char* kEscape = "\033";
constexpr const char* kBold = "\033[1m";
constexpr const char* kGreen = "\033[32m";
constexpr const char* kEraseLine = "\r\033[K";

bool has(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

/// What a process of this terminal becomes.
[[noreturn]] void become_norite(const char* terminal, std::vector<std::string> arguments,
                                const std::map<std::string, std::string>& environment) {
  setsid();
  const int tty = open(terminal, O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(tty, stream);
  unsetenv("NO_COLOR");
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  arguments.insert(arguments.begin(), "norite");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  execv(NORITE_CLI_PATH, pointers.data());
  _exit(127);
}

/// Runs the command on a terminal of its own; `out` is all that appears there.
test::CommandResult run_on_terminal(const std::vector<std::string>& arguments,
                                    const std::map<std::string, std::string>& environment) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
    ADD_FAILURE() << "no pseudo-terminal";
    return {};
  }
  const std::string terminal = ptsname(master);
  const pid_t child = fork();
  if (child == 0) become_norite(terminal.c_str(), arguments, environment);
  test::CommandResult result;
  // Reading fails once the child has ended, and before it has opened the terminal.
  int status = 0;
  for (bool ended = false; !ended;) {
    ended = waitpid(child, &status, WNOHANG) == child;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(master, buffer, sizeof(buffer))) > 0;) {
      result.out.append(buffer, static_cast<size_t>(n));
    }
    usleep(1000);
  }
  close(master);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

const std::vector<std::string> kVerify = {"verify", "--device", "cpu", "--filter", "rms_norm["};

TEST(Terminal, ShowsColours) {
  const auto result = run_on_terminal({"devices"}, {{"TERM", "xterm"}});
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_TRUE(has(result.out, std::string(kBold) + "cpu")) << result.out;
  EXPECT_TRUE(has(run_on_terminal(kVerify, {{"TERM", "xterm"}}).out, std::string(kGreen) + "ok"));
  const auto wrong = run_on_terminal({"--nonsense"}, {{"TERM", "xterm"}});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(has(wrong.out, "norite: \033[1;31merror:\033[0m ")) << wrong.out;
}

TEST(Terminal, ShowsNoColoursWhereNoneAreWanted) {
  for (const std::map<std::string, std::string>& environment :
       {std::map<std::string, std::string>{{"TERM", "xterm"}, {"NO_COLOR", "1"}},
        {{"TERM", "dumb"}},
        {{"TERM", ""}}}) {
    const auto result = run_on_terminal({"devices"}, environment);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_TRUE(has(result.out, "cpu")) << result.out;
    EXPECT_FALSE(has(result.out, kEscape)) << result.out;
  }
  // An empty variable counts as unset.
  const auto empty = run_on_terminal({"devices"}, {{"TERM", "xterm"}, {"NO_COLOR", ""}});
  EXPECT_TRUE(has(empty.out, kBold));
}

TEST(Terminal, ShowsProgressInOneLineAndErasesIt) {
  for (const char* no_color : {"", "1"}) {
    const auto result = run_on_terminal(kVerify, {{"TERM", "xterm"}, {"NO_COLOR", no_color}});
    EXPECT_EQ(result.exit_code, 0) << result.out;
    const size_t first = result.out.find(kEraseLine);
    ASSERT_NE(first, std::string::npos) << result.out;
    EXPECT_TRUE(result.out.substr(first).starts_with(std::string(kEraseLine) + "[1/"));
    const size_t erased = result.out.rfind(kEraseLine);
    const std::string progress = result.out.substr(first, erased - first);
    EXPECT_TRUE(has(progress, "rms_norm[")) << progress;
    EXPECT_FALSE(has(progress, "\n")) << progress;
    EXPECT_TRUE(has(result.out.substr(erased), " passed, 0 failed"));
  }
}

TEST(Terminal, ShowsNoProgressBesideJsonOrOnADumbOne) {
  std::vector<std::string> json = kVerify;
  json.emplace_back("--json");
  const auto result = run_on_terminal(json, {{"TERM", "xterm"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_FALSE(has(result.out, kEscape)) << result.out;
  EXPECT_TRUE(result.json().is_object());
  EXPECT_FALSE(has(run_on_terminal(kVerify, {{"TERM", "dumb"}}).out, "[1/"));
}

}  // namespace
}  // namespace norite
