// SPDX-License-Identifier: MIT
#include "msl/constant_expression.hpp"

#include <algorithm>
#include <charconv>

namespace norite::msl {

namespace {

int precedence(std::string_view op) {
  if (op == "*" || op == "/" || op == "%") return 5;
  if (op == "+" || op == "-") return 4;
  if (op == "<<" || op == ">>") return 3;
  if (op == "&") return 2;
  if (op == "^") return 1;
  if (op == "|") return 0;
  return -1;
}

std::optional<int64_t> apply(std::string_view op, int64_t a, int64_t b) {
  // In unsigned arithmetic nothing overflows with a bang.
  const auto ua = static_cast<uint64_t>(a);
  const auto ub = static_cast<uint64_t>(b);
  if (op == "*") return static_cast<int64_t>(ua * ub);
  if (op == "+") return static_cast<int64_t>(ua + ub);
  if (op == "-") return static_cast<int64_t>(ua - ub);
  if (op == "<<" && ub < 63) return static_cast<int64_t>(ua << ub);
  if (op == ">>" && ub < 63) return a >> ub;
  if (op == "&") return a & b;
  if (op == "^") return a ^ b;
  if (op == "|") return a | b;
  if (b == 0 || b == -1 || (op != "/" && op != "%")) return std::nullopt;
  return op == "/" ? a / b : a % b;
}

class Evaluator {
 public:
  Evaluator(const Module& module, const Constants& constants)
      : module_(module), constants_(constants) {}

  // Recursion is bounded by the nesting of brackets and the six levels of precedence.
  std::optional<int64_t> whole(Range range) {
    size_t i = range.begin;
    const auto value = binary(i, range.end, 0);
    return i == range.end ? value : std::nullopt;
  }

 private:
  std::optional<int64_t> binary(size_t& i, size_t end, int least) {
    auto left = unary(i, end);
    while (left && i < end) {
      const std::string_view op = module_.at(i).text;
      const int level = precedence(op);
      if (level < least) break;
      ++i;
      const auto right = binary(i, end, level + 1);
      if (!right) return std::nullopt;
      left = apply(op, *left, *right);
    }
    return left;
  }

  std::optional<int64_t> unary(size_t& i, size_t end) {
    bool negative = false;
    bool inverted = false;
    for (; i < end; ++i) {
      const std::string_view sign = module_.at(i).text;
      if (sign == "~" && negative) return std::nullopt;
      if (sign == "-") {
        negative = !negative;
      } else if (sign == "~") {
        inverted = !inverted;
      } else if (sign != "+") {
        break;
      }
    }
    auto value = primary(i, end);
    if (value && negative) value = static_cast<int64_t>(0 - static_cast<uint64_t>(*value));
    if (value && inverted) value = ~*value;
    return value;
  }

  std::optional<int64_t> primary(size_t& i, size_t end) {
    if (i >= end) return std::nullopt;
    const Token& token = module_.at(i);
    if (token.is("(")) {
      const Range inside{i + 1, module_.partner[i]};
      i = inside.end + 1;
      return whole(inside);
    }
    ++i;
    if (token.kind == TokenKind::number) return integer_literal(token.text);
    while (i + 1 < end && module_.at(i).is("::")) i += 2;
    const auto found = constants_.find(module_.at(i - 1).text);
    return found == constants_.end() ? std::nullopt : std::optional(found->second);
  }

  const Module& module_;
  const Constants& constants_;
};

}  // namespace

std::optional<int64_t> evaluate(const Module& module, Range range, const Constants& constants) {
  return Evaluator(module, constants).whole(range);
}

std::optional<int64_t> integer_literal(std::string_view spelling) {
  std::string digits(spelling);
  std::erase(digits, '\'');
  while (!digits.empty() && std::string_view("uUlL").find(digits.back()) != std::string::npos) {
    digits.pop_back();
  }
  int base = 10;
  size_t start = 0;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    start = 2;
  } else if (digits.starts_with("0b") || digits.starts_with("0B")) {
    base = 2;
    start = 2;
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
  }
  uint64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data() + start, end, value, base);
  if (error != std::errc() || rest != end) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace norite::msl
