// SPDX-License-Identifier: MIT
#include "core/subprocess.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>

#include "core/env.hpp"

extern "C" char** environ;  // NOLINT: POSIX declares it nowhere

namespace norite::core {

namespace {

using Clock = std::chrono::steady_clock;

class Descriptor {
 public:
  Descriptor() = default;
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void reset(int value = -1) {
    if (value_ >= 0) ::close(value_);
    value_ = value;
  }
  [[nodiscard]] int get() const noexcept { return value_; }

 private:
  int value_ = -1;
};

// Both ends close themselves in children that other threads start meanwhile.
bool open_pipe(Descriptor& read_end, Descriptor& write_end) {
  int ends[2];
#ifdef __linux__
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
#else
  if (::pipe(ends) != 0) return false;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
#endif
  read_end.reset(ends[0]);
  write_end.reset(ends[1]);
  return true;
}

// How the child starts: its three streams, nothing else open, no signal blocked or ignored, a
// process group of its own so that killing it reaches the programs it starts.
class SpawnPlan {
 public:
  SpawnPlan(const std::string& input_path, int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, input_path.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    posix_spawnattr_init(&attributes_);
    short flags = POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
#if defined(__APPLE__)
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#elif defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
#endif
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &pipe_signal);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, flags);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  int spawn(const std::vector<std::string>& arguments, pid_t& child) const {
    std::vector<char*> argv;
    for (const std::string& argument : arguments) {
      argv.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: argv is not written to
    }
    argv.push_back(nullptr);
    return posix_spawn(&child, argv[0], &actions_, &attributes_, argv.data(), environ);
  }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Appends what arrives until every writer has closed; false at the deadline.
bool read_until_closed(int descriptor, Clock::time_point deadline, size_t max_bytes,
                       std::string& output) {
  std::array<char, 4096> chunk;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waited = {.fd = descriptor, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&waited, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 60'000)));
    if (ready == 0 && left <= 0) return false;
    if (ready <= 0) continue;  // interrupted, or a limit beyond one poll's
    const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count == 0 || (count < 0 && errno != EINTR)) return true;
    if (count > 0) {
      output.append(chunk.data(), std::min(static_cast<size_t>(count), max_bytes - output.size()));
    }
  }
}

// False at the deadline. A child may close its streams and live on, so this waits in small steps.
bool wait_for_end(pid_t child, Clock::time_point deadline, int& status) {
  for (;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return true;
    if (ended < 0 && errno != EINTR) {
      status = -1;  // the application reaps children itself, so the status is lost
      return true;
    }
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

int exit_status(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : status;
}

bool is_executable(const std::string& path) { return ::access(path.c_str(), X_OK) == 0; }

}  // namespace

Result<SubprocessResult> run(const Subprocess& subprocess) {
  const auto failed = [&](std::string_view what, int error) {
    return fail(Code::unavailable, fmt::format("{}: {}: {}", subprocess.arguments.front(), what,
                                               std::strerror(error)));
  };
  Descriptor read_end, write_end;
  if (!open_pipe(read_end, write_end)) return failed("cannot make a pipe", errno);

  pid_t child = 0;
  const SpawnPlan plan(subprocess.input_path, write_end.get());
  if (const int error = plan.spawn(subprocess.arguments, child); error != 0) {
    return failed("cannot be started", error);
  }
  write_end.reset();

  const auto deadline = Clock::now() + subprocess.time_limit;
  SubprocessResult result;
  int status = 0;
  if (!read_until_closed(read_end.get(), deadline, subprocess.max_output_bytes, result.output) ||
      !wait_for_end(child, deadline, status)) {
    result.timed_out = true;
    ::kill(-child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  result.status = exit_status(status);
  return result;
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_executable(name) ? name : std::string();
  const std::string path = env::search_path();
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    // An empty entry means the current folder to a shell; a library should not run what lies there.
    if (end > begin) {
      std::string candidate = path.substr(begin, end - begin) + '/' + name;
      if (is_executable(candidate)) return candidate;
    }
    begin = end + 1;
  }
  return {};
}

}  // namespace norite::core
