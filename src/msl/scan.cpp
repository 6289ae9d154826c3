// SPDX-License-Identifier: MIT
#include "msl/scan.hpp"

#include <algorithm>
#include <array>

namespace norite::msl {

namespace {

constexpr std::array<std::string_view, 7> kAddressSpaces = {
    "device",   "constant",   "thread", "threadgroup", "threadgroup_imageblock",
    "ray_data", "object_data"};

// Words whose parentheses are not a function's parameters.
bool takes_parentheses(std::string_view word) {
  return word == "alignas" || word == "decltype" || word == "__attribute__" ||
         word == "static_assert" || word == "noexcept" || word == "sizeof";
}

}  // namespace

bool is_address_space(std::string_view word) noexcept {
  return std::find(kAddressSpaces.begin(), kAddressSpaces.end(), word) != kAddressSpaces.end();
}

size_t Scan::skip(size_t i) const { return std::max(module_.partner[i], i) + 1; }

size_t Scan::skip_angles(size_t i, size_t end) const {
  int depth = 0;
  while (i < end) {
    if (is(i, "<")) ++depth;
    if (is(i, ">")) --depth;
    if (is(i, ">>")) depth -= 2;
    if (is(i, ";")) return end;
    i = skip(i);
    if (depth <= 0) return i;
  }
  return end;
}

size_t Scan::skip_template_head(size_t i, size_t end) const {
  while (i < end && is(i, "template") && is(i + 1, "<")) i = skip_angles(i + 1, end);
  return i;
}

std::vector<Attribute> Scan::attributes(size_t i) const {
  std::vector<Attribute> result;
  for (const Range part : split({i + 2, module_.partner[i + 1]})) {
    if (part.empty()) continue;
    size_t name = part.begin;
    while (name + 2 < part.end && is(name + 1, "::")) name += 2;
    Attribute attribute{module_.at(name).text};
    if (name + 1 < part.end && is(name + 1, "(")) {
      attribute.arguments = {name + 2, module_.partner[name + 1]};
    }
    result.push_back(std::move(attribute));
  }
  return result;
}

std::vector<Attribute> Scan::attributes_in(Range range) const {
  std::vector<Attribute> result;
  for (size_t i = range.begin; i < range.end; i = skip(i)) {
    if (!attributes_at(i)) continue;
    for (Attribute& attribute : attributes(i)) result.push_back(std::move(attribute));
  }
  return result;
}

std::vector<Range> Scan::split(Range range) const {
  std::vector<Range> parts;
  int angles = 0;
  size_t begin = range.begin;
  for (size_t i = range.begin; i < range.end; i = skip(i)) {
    if (is(i, "<")) ++angles;
    if (is(i, ">")) angles = std::max(angles - 1, 0);
    if (is(i, ">>")) angles = std::max(angles - 2, 0);
    if (angles == 0 && is(i, ",")) {
      parts.push_back({begin, i});
      begin = i + 1;
    }
  }
  if (begin < range.end) parts.push_back({begin, range.end});
  return parts;
}

size_t Scan::skip_declaration(size_t i, size_t end) const {
  i = skip_template_head(i, end);
  bool parameters = false;    // seen: braces may be a body
  bool value = false;         // past an `=`: braces are a value
  bool initialisers = false;  // of a constructor: braces after a name are a member's
  for (; i < end; i = skip(i)) {
    if (is(i, ";")) return i + 1;
    if (is(i, "=") && !is(i - 1, "operator")) value = true;
    if (is(i, ":") && parameters) initialisers = true;
    if (is(i, "(") && i > 0 && !takes_parentheses(module_.at(i - 1).text)) parameters = true;
    if (!is(i, "{") || value) continue;
    const bool member = initialisers && (is_identifier(i - 1) || is(i - 1, ">"));
    if (parameters && !member) return skip(i);
  }
  return end;
}

Range Scan::parameter_list(size_t i, size_t end) const {
  for (i = skip_template_head(i, end); i < end; i = skip(i)) {
    if (is(i, "{") || is(i, ";") || is(i, "=")) break;
    if (!is(i, "(") || i == 0) continue;
    const Token& before = module_.at(i - 1);
    const bool callable = before.is_identifier() || is(i - 1, ")") || is(i - 1, ">") ||
                          (i > 1 && is(i - 2, "operator"));
    if (callable && !takes_parentheses(before.text) && before.text != "operator") {
      return {i, module_.partner[i] + 1};
    }
  }
  return {};
}

std::string Scan::text(Range range, bool keep_address_spaces) const {
  std::string result;
  bool word_before = false;
  for (size_t i = range.begin; i < range.end;) {
    if (attributes_at(i)) {
      i = skip(i);
      continue;
    }
    const Token& token = module_.at(i++);
    if (!keep_address_spaces && is_address_space(token.text)) continue;
    const bool word = token.kind == TokenKind::identifier || token.kind == TokenKind::number;
    if (word && word_before) result += ' ';
    result += token.text;
    word_before = word;
  }
  return result;
}

}  // namespace norite::msl
