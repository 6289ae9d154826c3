// SPDX-License-Identifier: MIT
// Steps over preprocessed tokens: attributes, angle brackets, lists, declarations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "msl/module.hpp"

namespace norite::msl {

[[nodiscard]] bool is_address_space(std::string_view word) noexcept;

/// One attribute of a [[…]] list: its name, and the tokens between its parentheses.
struct Attribute {
  std::string name;
  Range arguments = {};
};

class Scan {
 public:
  explicit Scan(const Module& module) : module_(module) {}

  [[nodiscard]] bool is(size_t i, std::string_view spelling) const {
    return i < size() && module_.at(i).text == spelling;
  }
  [[nodiscard]] bool is_identifier(size_t i) const {
    return i < size() && module_.at(i).is_identifier();
  }
  [[nodiscard]] size_t size() const { return module_.text.tokens.size(); }

  /// Whether a [[…]] list starts here.
  [[nodiscard]] bool attributes_at(size_t i) const { return is(i, "[") && is(i + 1, "["); }
  /// Past the bracket pair that opens at i, or past the token itself.
  [[nodiscard]] size_t skip(size_t i) const;
  /// Past the angle brackets that open at i; `end` where they never close.
  [[nodiscard]] size_t skip_angles(size_t i, size_t end) const;
  /// Past a `template <…>` head at i, or i.
  [[nodiscard]] size_t skip_template_head(size_t i, size_t end) const;

  [[nodiscard]] std::vector<Attribute> attributes(size_t i) const;
  /// Every attribute of a range, at its outermost level.
  [[nodiscard]] std::vector<Attribute> attributes_in(Range range) const;
  /// The parts between the outermost commas. Angle brackets count as brackets.
  [[nodiscard]] std::vector<Range> split(Range range) const;
  /// Past the declaration that starts at i: its `;` or its function body.
  [[nodiscard]] size_t skip_declaration(size_t i, size_t end) const;
  /// The parentheses of a function's parameters in [i, end); empty range where there are none.
  [[nodiscard]] Range parameter_list(size_t i, size_t end) const;

  /// The tokens of a range as text, attributes and the given words left out.
  [[nodiscard]] std::string text(Range range, bool keep_address_spaces = true) const;

 private:
  const Module& module_;
};

}  // namespace norite::msl
