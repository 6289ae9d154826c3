// SPDX-License-Identifier: MIT
#include "msl/clang_log.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace norite::msl {

namespace {

/// Takes ":<number>" off the end.
std::optional<uint32_t> take_number(std::string_view& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view digits = text.substr(colon + 1);
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  text.remove_suffix(digits.size() + 1);
  return value;
}

ClangNote note_at(std::string_view place, std::string_view text) {
  ClangNote note;
  note.text = text;
  const auto column = take_number(place);
  const auto line = take_number(place);
  if (column && line) {
    note.file = place;
    note.line = *line;
    note.column = *column;
  }
  return note;
}

bool is_users(const ClangNote& note) { return !note.file.empty() && note.file != kLibraryName; }

bool tells_the_use(const ClangNote& note) {
  constexpr std::array<std::string_view, 4> kSigns = {"requested here", "in call to",
                                                      "required here", "while substituting"};
  return std::ranges::any_of(
      kSigns, [&](std::string_view sign) { return note.text.find(sign) != std::string::npos; });
}

}  // namespace

std::vector<std::string> readable_log_flags() {
  return {"-w",
          "-ferror-limit=0",
          "-ftemplate-backtrace-limit=0",
          "-fno-caret-diagnostics",
          "-fno-color-diagnostics",
          "-fno-elide-type",
          "-fno-spell-checking"};
}

std::vector<ClangError> read_clang_log(std::string_view log) {
  std::vector<ClangError> errors;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    constexpr std::string_view kError = "error: ";
    constexpr std::string_view kNote = "note: ";
    const size_t error = line.find(kError);
    const size_t note = line.find(kNote);
    if (error < note) {
      const size_t fatal = line.find("fatal error: ");
      const std::string_view place = line.substr(0, std::min({error, fatal}));
      errors.push_back(
          {note_at(place.substr(0, place.rfind(':')), line.substr(error + kError.size())), {}});
    } else if (note != std::string_view::npos && !errors.empty()) {
      const std::string_view place = line.substr(0, note);
      errors.back().notes.push_back(
          note_at(place.substr(0, place.rfind(':')), line.substr(note + kNote.size())));
    }
  }
  return errors;
}

const ClangNote* users_place(const ClangError& error) {
  if (is_users(error)) return &error;
  const auto use = std::ranges::find_if(
      error.notes, [](const ClangNote& note) { return is_users(note) && tells_the_use(note); });
  return use == error.notes.end() ? nullptr : &*use;
}

}  // namespace norite::msl
