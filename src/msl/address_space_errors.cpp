// SPDX-License-Identifier: MIT
#include "msl/address_space_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace norite::msl {

namespace {

using Spaces = std::vector<std::string_view>;

struct SpaceName {
  std::string_view clang;
  std::string_view metal;  // empty: none of Metal's
};

// Longer names first. __global is where clang puts constants of the file and of functions.
constexpr std::array<SpaceName, 7> kSpaceNames = {{{"__global_device", "device"},
                                                   {"__global_host", "constant"},
                                                   {"__private", "thread"},
                                                   {"__local", "threadgroup"},
                                                   {"__generic", ""},
                                                   {"__constant", ""},
                                                   {"__global", ""}}};

// Phrases of errors that name the two types which do not go together.
constexpr std::array<std::string_view, 6> kMixing = {"cannot initialize ",
                                                     "changes address space",
                                                     "mismatching address spaces",
                                                     "non-overlapping address spaces",
                                                     "is not allowed",
                                                     "from incompatible type"};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

/// What a message has between quotes; of a type with another name, the type itself.
std::vector<std::string_view> quoted(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t open = text.find('\'');
  while (open != std::string_view::npos) {
    const size_t close = text.find('\'', open + 1);
    if (close == std::string_view::npos) break;
    if (!parts.empty() && text.substr(0, open).ends_with("(aka ")) parts.pop_back();
    parts.push_back(text.substr(open + 1, close - open - 1));
    open = text.find('\'', close + 1);
  }
  return parts;
}

/// The spaces that a type's pointers and references lead to. The last one is where the pointer
/// itself is, if a pointer's: of no interest.
Spaces spaces_of(std::string_view type) {
  constexpr std::string_view kOwn = "*__private";
  if (type.ends_with(kOwn)) type.remove_suffix(kOwn.size() - 1);
  Spaces spaces;
  for (size_t at = type.find("__"); at != std::string_view::npos; at = type.find("__", at + 2)) {
    for (const SpaceName& name : kSpaceNames) {
      if (!type.substr(at).starts_with(name.clang)) continue;
      spaces.push_back(name.metal);
      break;
    }
  }
  return spaces;
}

struct Mixture {
  std::string_view first;
  std::string_view second;
};

/// The two spaces in which the two types of a message differ, if that is so.
std::optional<Mixture> mixture(std::string_view message) {
  std::vector<Spaces> types;
  for (const std::string_view part : quoted(message)) {
    if (Spaces spaces = spaces_of(part); !spaces.empty()) types.push_back(std::move(spaces));
  }
  if (types.size() != 2 || types[0].size() != types[1].size()) return std::nullopt;
  for (const Spaces& spaces : types) {
    if (std::ranges::count(spaces, "") > 0) return std::nullopt;
  }
  const auto [first, second] = std::ranges::mismatch(types[0], types[1]);
  if (first == types[0].end()) return std::nullopt;
  return Mixture{*first, *second};
}

std::string in_metals_words(std::string text) {
  replace_all(text, "*__private'", "*'");
  replace_all(text, "initialization of '__private ", "initialization of '");
  for (const SpaceName& name : kSpaceNames) {
    if (!name.metal.empty()) replace_all(text, name.clang, name.metal);
  }
  replace_all(text, "norite_", "");
  return text;
}

bool is_about_count(std::string_view note) {
  return contains(note, "requires") && contains(note, "argument");
}

/// A call fails because of spaces if that is what every function of the name says which takes as
/// many arguments.
std::optional<std::string> call_error(const ClangError& error) {
  std::optional<Mixture> found;
  for (const ClangNote& note : error.notes) {
    if (!note.text.starts_with("candidate") || is_about_count(note.text)) continue;
    auto spaces = mixture(note.text);
    if (!spaces || note.file == kLibraryName) return std::nullopt;
    // Clang names the argument's space first, but in what it says about templates.
    if (contains(note.text, "candidate template")) std::swap(spaces->first, spaces->second);
    if (!found) found = spaces;
  }
  if (!found) return std::nullopt;
  return fmt::format("{}: a {} argument where it takes {}", error.text, found->first,
                     found->second);
}

/// Whether an error is about two types which do not go together. What it says about the operands of
/// `?:` counts for pointers alone: values may well come from different memory.
bool names_two_types(std::string_view error) {
  if (error.starts_with("incompatible operand types")) return contains(error, "*' and '");
  return std::ranges::any_of(kMixing, [&](auto part) { return contains(error, part); });
}

}  // namespace

std::optional<std::string> address_space_error(const ClangError& error) {
  if (error.file == kLibraryName) return std::nullopt;
  std::optional<std::string> message;
  if (error.text.starts_with("no matching ")) {
    message = call_error(error);
  } else if (names_two_types(error.text) && mixture(error.text)) {
    message = error.text;
  }
  if (message) message = in_metals_words(*std::move(message));
  return message;
}

}  // namespace norite::msl
