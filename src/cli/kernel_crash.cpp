// SPDX-License-Identifier: MIT
#include "cli/kernel_crash.hpp"

#include "cli/exit_code.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>

namespace norite::cli {
namespace {

struct Fault {
  int number;
  struct sigaction before = {};
};
std::array faults = {Fault{SIGSEGV}, Fault{SIGBUS}, Fault{SIGFPE}};

// A signal handler may format nothing, so the messages are there before.
std::string outside_message;
std::string division_message;

extern "C" void end_with_message(int number) {
  const std::string& message = number == SIGFPE ? division_message : outside_message;
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  ::_exit(static_cast<int>(ExitCode::check_failed));
}

}  // namespace

CrashMessage::CrashMessage(std::string_view kernel) {
  outside_message = fmt::format(
      "norite: error: kernel '{}' touched memory far outside of its buffers; --checked shows "
      "where\n",
      kernel);
  division_message = fmt::format("norite: error: kernel '{}' divided an integer by zero\n", kernel);
  struct sigaction action = {};
  action.sa_handler = end_with_message;
  sigemptyset(&action.sa_mask);
  for (Fault& fault : faults) sigaction(fault.number, &action, &fault.before);
}

CrashMessage::~CrashMessage() {
  for (const Fault& fault : faults) sigaction(fault.number, &fault.before, nullptr);
}

}  // namespace norite::cli
