// SPDX-License-Identifier: MIT
#include "cli/terminal.hpp"

#include "cli/text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace norite::cli {
namespace {

constexpr size_t kMaxProgressWidth = 60;
/// Drawing more often than an eye can follow would only slow the work down.
constexpr auto kRedrawInterval = std::chrono::milliseconds(50);

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// A terminal that understands escape codes.
const char* escape_code(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::strong:
      return "\033[1m";
    case Tone::faint:
      return "\033[2m";
    case Tone::good:
      return "\033[32m";
    case Tone::bad:
      return "\033[1;31m";
  }
  return "";
}

}  // namespace

bool is_terminal(std::FILE* stream) {
  if (isatty(fileno(stream)) == 0 || !is_set("TERM")) return false;
  return std::string_view(std::getenv("TERM")) != "dumb";
}

bool has_colour(std::FILE* stream) { return is_terminal(stream) && !is_set("NO_COLOR"); }

std::string paint(std::string_view text, Tone tone, std::FILE* stream) {
  if (tone == Tone::plain || !has_colour(stream)) return std::string(text);
  return fmt::format("{}{}\033[0m", escape_code(tone), text);
}

Progress::Progress(size_t total, bool quiet)
    : total_(total), visible_(!quiet && is_terminal(stderr)) {}

Progress::~Progress() {
  if (visible_) fmt::print(stderr, "{}", kEraseLine);
}

void Progress::next(std::string_view what) {
  ++started_;
  const auto now = std::chrono::steady_clock::now();
  if (!visible_ || now - last_drawn_ < kRedrawInterval) return;
  last_drawn_ = now;
  fmt::print(stderr, "{}[{}/{}] {}", kEraseLine, started_, total_,
             printable(what.substr(0, kMaxProgressWidth)));
  std::fflush(stderr);
}

}  // namespace norite::cli
