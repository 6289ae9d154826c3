// SPDX-License-Identifier: MIT
// PTX, the text that NVRTC compiles kernels to, taken apart: as much of it as one kernel without
// functions of its own has. Everything else is refused by name and line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace norite::ptx {

struct Operand {
  /// An address is its base and its offset, in parts.
  enum class Kind { name, number, address, list };

  Kind kind = Kind::name;
  std::string name;
  uint64_t bits = 0;     // a number, as wide as a number can be
  bool negated = false;  // !name
  std::vector<Operand> parts;
};

struct Statement {
  int line = 0;
  std::string guard;  // a predicate, or none
  bool guard_negated = false;
  std::vector<std::string> opcode;  // "ld", "global", "v4", "u32"
  std::vector<Operand> operands;

  [[nodiscard]] bool has(std::string_view modifier) const;
  /// "ld.global.v4.u32"
  [[nodiscard]] std::string name() const;
};

/// A variable of a space ("global", "shared", ...), or a parameter of the entry.
struct Variable {
  std::string space, name;
  size_t bytes = 0, alignment = 1;
  bool sized_by_launch = false;
  std::vector<uint8_t> contents;  // shorter than it is: zeros follow
};

struct Module {
  std::vector<Variable> variables;          // inside and outside of the entry
  std::vector<Variable> parameters;         // of the entry, in order
  std::map<std::string, size_t> registers;  // bytes; 0 for a predicate
  std::map<std::string, size_t> labels;     // the statement behind it
  std::vector<Statement> statements;
  std::string entry;
  unsigned max_threads = 1024;
};

/// Throws std::runtime_error where the text is not understood.
Module parse(std::string_view text);

/// Bytes of "u32", "bf16", "b8"; 0 of "pred".
size_t bytes_of_type(std::string_view type);
bool is_type(std::string_view word);

}  // namespace norite::ptx
