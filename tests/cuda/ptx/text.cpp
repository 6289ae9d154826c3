// SPDX-License-Identifier: MIT
#include "cuda/ptx/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace norite::ptx {

namespace {

struct Token {
  std::string_view text;
  int line;
};

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_$%.:", c) != nullptr;
}

/// Words, where a label's colon is a token of its own, and single characters.
std::vector<Token> split(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  for (size_t at = 0; at < text.size() && text[at] != '\0';) {
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      line += text[at++] == '\n' ? 1 : 0;
    } else {
      size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      if (end > at + 1 && text[end - 1] == ':') --end;
      end = std::max(end, at + 1);
      tokens.push_back({text.substr(at, end - at), line});
      at = end;
    }
  }
  return tokens;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(split(text)) {}

  Module parse() {
    while (at_ < tokens_.size()) {
      if (is(".version") || is(".target") || is(".address_size")) {
        const int line = tokens_[at_].line;
        while (at_ < tokens_.size() && tokens_[at_].line == line) ++at_;
      } else if (is(".entry")) {
        parse_entry();
      } else if (is(".visible") || is(".extern") || is(".weak")) {
        ++at_;
      } else {
        parse_variable("");
      }
    }
    return std::move(module_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    const int line = at_ < tokens_.size() ? tokens_[at_].line : 0;
    throw std::runtime_error("PTX line " + std::to_string(line) + ": " + what);
  }

  [[nodiscard]] bool is(std::string_view text) const {
    return at_ < tokens_.size() && tokens_[at_].text == text;
  }
  bool take(std::string_view text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  std::string word() {
    if (at_ >= tokens_.size()) refuse("the text ends");
    return std::string(tokens_[at_++].text);
  }
  void expect(std::string_view text) {
    if (!take(text)) refuse("expected " + std::string(text) + " before " + word());
  }

  /// An integer, or a float by its bits: 0f3F800000, 0d3FF0000000000000.
  uint64_t number() {
    const bool negative = take("-");
    const std::string text = word();
    const bool is_bits =
        text.size() > 2 && text[0] == '0' && std::strchr("fFdD", text[1]) != nullptr;
    char* end = nullptr;
    const uint64_t value =
        is_bits ? std::strtoull(text.c_str() + 2, &end, 16) : std::strtoull(text.c_str(), &end, 0);
    if (*end != '\0' && std::strcmp(end, "U") != 0) refuse("no number: " + text);
    return negative ? 0 - value : value;
  }

  [[nodiscard]] bool is_number() const {
    return at_ < tokens_.size() &&
           (is("-") || std::isdigit(static_cast<unsigned char>(tokens_[at_].text[0])) != 0);
  }

  /// ".space .align 8 .b8 name[56] = {1, 2};" A parameter ends with the comma or parenthesis that
  /// follows.
  void parse_variable(std::string_view only) {
    Variable variable;
    variable.space = word().substr(1);
    if (!only.empty() && variable.space != only) refuse("expected ." + std::string(only));
    size_t element = 0;
    while (is_directive()) {
      if (take(".align")) {
        variable.alignment = number();
      } else if (take(".ptr")) {
        while (is(".global") || is(".align")) take(".global") ? 0 : (++at_, number());
      } else {
        element = bytes_of_type(word().substr(1));
        variable.alignment = std::max(variable.alignment, element);
      }
    }
    variable.name = word();
    size_t count = 1;
    if (take("[")) {
      variable.sized_by_launch = is("]");
      if (!variable.sized_by_launch) count = number();
      expect("]");
    }
    variable.bytes = variable.sized_by_launch ? 0 : element * count;
    if (take("=")) variable.contents = contents(element);
    if (variable.space == "param") {
      module_.parameters.push_back(std::move(variable));
    } else {
      expect(";");
      module_.variables.push_back(std::move(variable));
    }
  }

  [[nodiscard]] bool is_directive() const {
    return at_ < tokens_.size() && tokens_[at_].text[0] == '.';
  }

  std::vector<uint8_t> contents(size_t element) {
    std::vector<uint8_t> bytes;
    const bool list = take("{");
    do {
      const uint64_t value = number();
      for (size_t i = 0; i < element; ++i) bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
    } while (list && take(","));
    if (list) expect("}");
    return bytes;
  }

  void parse_entry() {
    expect(".entry");
    if (!module_.entry.empty()) refuse("a second entry");
    module_.entry = word();
    expect("(");
    while (!take(")")) {
      parse_variable("param");
      take(",");
    }
    while (!is("{")) {
      const std::string directive = word();
      const auto value = static_cast<unsigned>(number());
      if (directive == ".maxntid") {
        module_.max_threads = value;
        while (take(",")) module_.max_threads *= static_cast<unsigned>(number());
      } else if (directive == ".minnctapersm") {
        continue;  // the launch says how many have to fit
      } else {
        refuse(directive + " is unknown");
      }
    }
    parse_block();
  }

  /// Names that a block declares hide those around it.
  void parse_block() {
    expect("{");
    scopes_.emplace_back();
    while (!take("}")) {
      if (is("{")) {
        parse_block();
      } else if (is(".reg")) {
        parse_registers();
      } else if (is(".pragma")) {
        while (!take(";")) word();
      } else if (is_directive()) {
        parse_variable("");
      } else if (at_ + 1 < tokens_.size() && tokens_[at_ + 1].text == ":") {
        module_.labels[word()] = module_.statements.size();
        expect(":");
      } else if (!take(";")) {
        parse_statement();
      }
    }
    scopes_.pop_back();
  }

  void parse_registers() {
    expect(".reg");
    const size_t bytes = bytes_of_type(word().substr(1));
    do {
      const std::string name = word();
      if (take("<")) {
        const uint64_t count = number();
        expect(">");
        for (uint64_t i = 0; i < count; ++i) module_.registers[name + std::to_string(i)] = bytes;
      } else {
        const std::string own = name + "@" + std::to_string(module_.registers.size());
        scopes_.back()[name] = own;
        module_.registers[own] = bytes;
      }
    } while (take(","));
    expect(";");
  }

  std::string resolved(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(name); found != scope->end()) return found->second;
    }
    return name;
  }

  void parse_statement() {
    Statement statement;
    statement.line = at_ < tokens_.size() ? tokens_[at_].line : 0;
    if (take("@")) {
      statement.guard_negated = take("!");
      statement.guard = resolved(word());
    }
    const std::string opcode = word();
    for (size_t at = 0; at < opcode.size();) {
      const size_t end = std::min(opcode.find('.', at), opcode.size());
      statement.opcode.push_back(opcode.substr(at, end - at));
      at = end + 1;
    }
    while (!take(";")) {
      statement.operands.push_back(parse_operand());
      if (!take(",") && !is(";") && !take("|")) refuse("expected , or ; before " + word());
    }
    module_.statements.push_back(std::move(statement));
  }

  Operand parse_operand() {
    Operand operand;
    if (take("{")) {
      operand.kind = Operand::Kind::list;
      while (!take("}")) {
        operand.parts.push_back(parse_operand());
        take(",");
      }
    } else if (take("[")) {
      operand.kind = Operand::Kind::address;
      operand.parts.push_back(parse_operand());
      Operand& offset = operand.parts.emplace_back();
      offset.kind = Operand::Kind::number;
      if (take("+")) offset.bits = number();
      expect("]");
    } else if (is_number()) {
      operand.kind = Operand::Kind::number;
      operand.bits = number();
    } else {
      operand.negated = take("!");
      operand.name = resolved(word());
    }
    return operand;
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  Module module_;
  std::vector<std::map<std::string, std::string>> scopes_;
};

}  // namespace

bool Statement::has(std::string_view modifier) const {
  return std::find(opcode.begin() + 1, opcode.end(), modifier) != opcode.end();
}

std::string Statement::name() const {
  std::string text = opcode[0];
  for (size_t i = 1; i < opcode.size(); ++i) text += "." + opcode[i];
  return text;
}

namespace {

const std::map<std::string_view, size_t>& types() {
  static const std::map<std::string_view, size_t> all = {
      {"pred", 0}, {"b8", 1},  {"u8", 1},   {"s8", 1},  {"b16", 2}, {"u16", 2},
      {"s16", 2},  {"f16", 2}, {"bf16", 2}, {"b32", 4}, {"u32", 4}, {"s32", 4},
      {"f32", 4},  {"b64", 8}, {"u64", 8},  {"s64", 8}, {"f64", 8}};
  return all;
}

}  // namespace

bool is_type(std::string_view word) { return types().contains(word); }

size_t bytes_of_type(std::string_view type) {
  const auto found = types().find(type);
  if (found == types().end()) throw std::runtime_error("PTX: no type: " + std::string(type));
  return found->second;
}

Module parse(std::string_view text) { return Parser(text).parse(); }

}  // namespace norite::ptx
