// SPDX-License-Identifier: MIT
// What a person at a terminal sees beyond plain text: colours and a progress line.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

namespace norite::cli {

enum class Tone : unsigned char { plain, strong, faint, good, bad };

bool is_terminal(std::FILE* stream);
/// Written to a terminal, it empties the line that the cursor is in.
inline constexpr std::string_view kEraseLine = "\r\033[K";

/// Whether the stream is a terminal that shows colours, and NO_COLOR is not set.
bool has_colour(std::FILE* stream);
/// The text with escape codes around it where the stream shows colours, else the text alone.
std::string paint(std::string_view text, Tone tone, std::FILE* stream = stdout);

/// One line on stderr that is rewritten as the work goes on and erased at the end. Silent where
/// stderr is not a terminal, or `quiet`.
class Progress {
 public:
  Progress(size_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The next piece of work begins.
  void next(std::string_view what);

 private:
  size_t total_;
  size_t started_ = 0;
  bool visible_;
  std::chrono::steady_clock::time_point last_drawn_ = {};
};

}  // namespace norite::cli
