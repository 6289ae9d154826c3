// SPDX-License-Identifier: MIT
// What a kernel file holds, as far as running its kernels needs to know: their signatures, function
// constants, and the places that lowering must treat specially.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "msl/preprocess.hpp"
#include "msl/token.hpp"

namespace norite::msl {

/// Tokens [begin, end) of a text.
struct Range {
  size_t begin = 0;
  size_t end = 0;
  [[nodiscard]] bool empty() const noexcept { return begin == end; }
};

enum class ParameterKind : uint8_t {
  buffer,
  threadgroup,
  place,        // the thread's position and its kin
  unsupported,  // textures, samplers, stage inputs, …
};

/// One parameter of a kernel function.
struct KernelParameter {
  ParameterKind kind = ParameterKind::unsupported;
  std::string name;
  std::string type;           // as written, without address space, attributes and name
  std::string address_space;  // device, constant or threadgroup; empty for places
  std::string attribute;      // a place's or an unsupported one's
  unsigned index = 0;         // buffers and threadgroup slots
  bool read_only = false;
  bool by_reference = false;
  std::string gate = {};  // the function constant without which the parameter is absent
  Location location = {};
};

/// A kernel's definition; a template makes several kernels.
struct KernelDefinition {
  std::string name;
  std::string scope;  // enclosing namespaces, "a::b"
  bool is_template = false;
  Range item;  // the whole definition
  std::vector<KernelParameter> parameters;
  unsigned max_threads = 0;  // max_total_threads_per_threadgroup; 0 where not given
  unsigned cooperative = 0;  // an attribute of ours, for CUDA: see kernels/cuda/shared_sums.h

  /// Whether it takes nothing but what can be bound here.
  [[nodiscard]] bool supported() const noexcept;
};

/// What can be dispatched.
struct Kernel {
  std::string name;  // host name
  size_t definition = 0;
  Range arguments = {};  // template arguments with their <>, empty where there are none
  Range signature = {};  // (parameters) where only they tell which function is meant
  Location location = {};
};

struct FunctionConstant {
  std::string name;
  std::string type;
  unsigned index = 0;
  Range item = {};
};

struct Module {
  Text text;
  std::vector<size_t> partner;  // of each bracket
  std::vector<KernelDefinition> definitions;
  std::vector<Kernel> kernels;
  std::vector<FunctionConstant> constants;
  std::vector<Range> instantiations;  // explicit ones, of kernels
  /// File-scope `constant` variables: where the item starts, and its name.
  std::map<size_t, std::string> file_constants;
  /// Items that differ from an earlier one in address spaces alone, by their first token.
  std::map<size_t, size_t> address_space_twins;
  /// Members of the user's own structs that are spelled like swizzles.
  std::set<std::string, std::less<>> swizzle_like_members;

  [[nodiscard]] const Token& at(size_t i) const { return text.tokens[i]; }
  [[nodiscard]] const Kernel* find(std::string_view name) const;
  [[nodiscard]] const KernelDefinition& definition_of(const Kernel& kernel) const {
    return definitions[kernel.definition];
  }
};

/// Reads a kernel file. Errors: compile_failed with the user's file, line and column.
[[nodiscard]] Result<Module> parse(const Source& source, const Specialisation& macros);

}  // namespace norite::msl
