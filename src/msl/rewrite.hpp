// SPDX-License-Identifier: MIT
// Rewrites tokens of Metal's into plain C++ that means the same with our shim in front: address
// spaces and attributes go, threadgroup variables become references into the group's memory,
// swizzles become calls, loops learn to stop when they are cancelled (on the CPU alone). For a
// compiler that is to judge address spaces they stay, as words that a prelude defines.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "msl/module.hpp"
#include "msl/printer.hpp"
#include "msl/scan.hpp"
#include "msl/target.hpp"

namespace norite::msl {

/// Values of function constants, by name, as C++ text; one that is not here is not defined.
using ConstantValues = std::map<std::string, std::string, std::less<>>;

enum class AddressSpaces : uint8_t { removed, kept };

class Rewriter {
 public:
  Rewriter(const Module& module, const ConstantValues& constants, Printer& printer,
           AddressSpaces address_spaces = AddressSpaces::removed, Target target = Target::clang)
      : module_(module),
        scan_(module),
        constants_(constants),
        printer_(printer),
        spaces_kept_(address_spaces == AddressSpaces::kept),
        target_(target) {}

  /// The whole text without the kernels that are not wanted and without explicit instantiations.
  void whole(std::span<const Kernel> kept);
  /// The tokens of [begin, end), rewritten.
  void range(size_t begin, size_t end);

 private:
  // Each takes what starts at i and returns where to go on.
  size_t one(size_t i, size_t end);
  size_t word(size_t i, size_t end);
  size_t file_constant(size_t i, const std::string& name);
  size_t address_space(size_t i);
  size_t function_pointer(size_t i);
  size_t threadgroup(size_t i, size_t end);
  size_t threadgroup_variable(size_t i, size_t semicolon);
  size_t constant(size_t i, size_t end);
  size_t for_loop(size_t i);
  size_t while_loop(size_t i);
  size_t swizzle(size_t i);
  size_t constant_defined(size_t i);
  size_t number(size_t i);
  size_t kernel(size_t i);
  size_t attributes(size_t i);

  // What NVRTC has not, or has otherwise than clang.
  size_t punctuation_for_nvrtc(size_t i);
  size_t pragma(size_t i);
  size_t array_range(size_t i, size_t name);
  size_t conditional(size_t i);
  void qualify_for_nvrtc(size_t i);
  [[nodiscard]] size_t array_before(size_t equals) const;
  [[nodiscard]] size_t operand_end(size_t i) const;

  [[nodiscard]] size_t threadgroup_declaration_end(size_t i, size_t end) const;
  [[nodiscard]] bool starts_statement(size_t i) const;
  [[nodiscard]] bool qualifies_pointee(size_t i, size_t end) const;
  [[nodiscard]] bool qualifies_method(size_t i) const;
  [[nodiscard]] bool names_variables_space(size_t i) const;
  [[nodiscard]] bool names_function_pointer(size_t i) const;
  [[nodiscard]] bool unrolled(size_t i) const;
  [[nodiscard]] const FunctionConstant* undefined(size_t begin, size_t end) const;
  void insert(std::string_view text, size_t at) { printer_.insert(text, module_.at(at).location); }

  const Module& module_;
  Scan scan_;
  const ConstantValues& constants_;
  Printer& printer_;
  bool spaces_kept_;
  Target target_;
  std::map<size_t, size_t> dropped_;  // ranges that are left out, by their first token
};

}  // namespace norite::msl
