// SPDX-License-Identifier: MIT
#include "msl/unqualified_pointers.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "msl/scalar_size.hpp"
#include "msl/scan.hpp"

namespace norite::msl {

namespace {

bool is_specifier(std::string_view word) {
  return word == "const" || word == "volatile" || word == "static" || word == "constexpr" ||
         word == "unsigned" || word == "signed" || word == "struct";
}

class Search {
 public:
  explicit Search(const Module& module) : module_(module), scan_(module) {
    for (size_t i = 0; i + 2 < scan_.size(); ++i) {
      if (scan_.is(i, "struct") && scan_.is(i + 2, "{")) structs_.insert(module.at(i + 1).text);
    }
  }

  std::vector<Finding> run() {
    for (size_t i = 1; i < scan_.size(); ++i) {
      if (!is_type(i)) continue;
      const auto name = declared_pointer(i);
      if (!name) continue;
      found_.push_back(
          {Diagnostic::Severity::error, module_.at(*name).location,
           fmt::format("'{}' has no address space: Metal wants device, constant, threadgroup or "
                       "thread before '{}'",
                       module_.at(*name).text, module_.at(i).text)});
    }
    return std::move(found_);
  }

 private:
  [[nodiscard]] bool is_type(size_t i) const {
    const Token& token = module_.at(i);
    return token.is_identifier() &&
           (token.is("void") || bytes_of_type(token.text) > 0 || structs_.contains(token.text));
  }

  // The name in `T* name` or `T& name` where that declares a variable or parameter of its own, with
  // nothing but specifiers in front of the type.
  [[nodiscard]] std::optional<size_t> declared_pointer(size_t type) const {
    size_t star = type + 1;
    while (scan_.is(star, "const") || scan_.is(star, "volatile")) ++star;
    if (!scan_.is(star, "*") && !scan_.is(star, "&")) return std::nullopt;
    size_t name = star + 1;
    while (scan_.is(name, "const") || scan_.is(name, "volatile")) ++name;
    if (!scan_.is_identifier(name) || is_address_space(module_.at(name).text)) return std::nullopt;
    size_t start = type;
    while (start > 0 && is_specifier(module_.at(start - 1).text)) --start;
    if (start == 0) return std::nullopt;
    const bool parameter = scan_.is(start - 1, "(") || scan_.is(start - 1, ",");
    const bool statement =
        scan_.is(start - 1, ";") || scan_.is(start - 1, "{") || scan_.is(start - 1, "}");
    const bool ends = scan_.is(name + 1, "=") || scan_.is(name + 1, "[") ||
                      (statement && scan_.is(name + 1, ";")) ||
                      (parameter && (scan_.is(name + 1, ",") || scan_.is(name + 1, ")")));
    if (!ends || !(parameter || statement)) return std::nullopt;
    return name;
  }

  const Module& module_;
  Scan scan_;
  std::set<std::string, std::less<>> structs_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> unqualified_pointers(const Module& module) { return Search(module).run(); }

}  // namespace norite::msl
