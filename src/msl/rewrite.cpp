// SPDX-License-Identifier: MIT
#include "msl/rewrite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace norite::msl {

namespace {

constexpr std::array<std::string_view, 11> kAssignments = {
    "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="};

// Values of these can be used where C++ wants constant expressions.
constexpr std::array<std::string_view, 20> kScalars = {
    "bool",    "char",    "uchar",    "short",   "ushort",   "int",     "uint",
    "long",    "ulong",   "float",    "half",    "bfloat",   "size_t",  "int8_t",
    "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "unsigned"};

template <size_t N>
bool contains(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// The components of a swizzle as xyzw letters; empty where the word is none.
std::string swizzle_letters(std::string_view word) {
  if (word.size() < 2 || word.size() > 4) return {};
  for (const std::string_view names : {"xyzw", "rgba"}) {
    std::string letters;
    for (const char c : word) {
      const size_t component = names.find(c);
      if (component == std::string_view::npos) break;
      letters += "xyzw"[component];
    }
    if (letters.size() == word.size()) return letters;
  }
  return {};
}

}  // namespace

void Rewriter::whole(std::span<const Kernel> kept) {
  if (!spaces_kept_) dropped_ = module_.address_space_twins;
  for (const KernelDefinition& definition : module_.definitions) {
    const bool wanted = definition.is_template
                            ? definition.supported()
                            : std::ranges::any_of(kept, [&](const Kernel& kernel) {
                                return &module_.definition_of(kernel) == &definition;
                              });
    if (!wanted) dropped_[definition.item.begin] = definition.item.end;
  }
  for (const Range& item : module_.instantiations) dropped_[item.begin] = item.end;
  for (const FunctionConstant& constant : module_.constants) {
    dropped_[constant.item.begin] = constant.item.end;
  }
  range(0, scan_.size());
}

void Rewriter::range(size_t begin, size_t end) {
  for (size_t i = begin; i < end;) {
    if (const auto dropped = dropped_.find(i); dropped != dropped_.end()) {
      i = dropped->second;
    } else if (const auto constant = module_.file_constants.find(i);
               constant != module_.file_constants.end()) {
      i = file_constant(i, constant->second);
    } else {
      i = one(i, end);
    }
  }
}

size_t Rewriter::one(size_t i, size_t end) {
  const Token& token = module_.at(i);
  if (scan_.attributes_at(i)) return attributes(i);
  if (token.kind == TokenKind::identifier) return word(i, end);
  if (token.kind == TokenKind::number) return number(i);
  if (token.is(".") || token.is("->")) return swizzle(i);
  if (spaces_kept_ && names_function_pointer(i)) return function_pointer(i);
  if (target_ == Target::nvrtc) return punctuation_for_nvrtc(i);
  printer_.token(token);
  return i + 1;
}

size_t Rewriter::word(size_t i, size_t end) {
  const Token& token = module_.at(i);
  if (token.is("threadgroup")) return threadgroup(i, end);
  if (token.is("constant")) return constant(i, end);
  if (token.is("kernel")) return kernel(i);
  if (target_ == Target::nvrtc) qualify_for_nvrtc(i);
  if (is_address_space(token.text)) return address_space(i);
  if (token.is("coherent") && scan_.is(i + 1, "(")) return scan_.skip(i + 1);
  const bool polls = target_ == Target::clang;
  if (polls && token.is("for") && scan_.is(i + 1, "(")) return for_loop(i);
  if (polls && token.is("while") && scan_.is(i + 1, "(")) return while_loop(i);
  if (token.is("static_cast") && !spaces_kept_) {
    insert("norite_msl::cast", i);
    return i + 1;
  }
  if (token.is("is_function_constant_defined") && scan_.is(i + 1, "(")) return constant_defined(i);
  printer_.token(token);
  return i + 1;
}

// Metal has no double: `1.0` is a float. `1.0h` and `1.0bf` have no suffix in C++.
size_t Rewriter::number(size_t i) {
  const std::string_view text = module_.at(i).text;
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const bool brain = !hex && (text.ends_with("bf") || text.ends_with("BF"));
  const bool half = !hex && !brain && (text.ends_with('h') || text.ends_with('H'));
  const bool fraction = text.find_first_of(hex ? ".pP" : ".eE") != std::string_view::npos;
  if (brain || half) {
    const std::string_view value = text.substr(0, text.size() - (brain ? 2 : 1));
    insert(fmt::format("{}({}{})", brain ? "bfloat" : "half", value, fraction ? "f" : ".0f"), i);
  } else if (fraction && !text.ends_with('f') && !text.ends_with('F')) {
    insert(fmt::format("{}f", text), i);
  } else {
    printer_.token(module_.at(i));
  }
  return i + 1;
}

// Only the entry calls it: NVRTC need not keep a copy for others.
size_t Rewriter::kernel(size_t i) {
  if (target_ == Target::nvrtc) insert("static", i);
  return scan_.skip(i);
}

size_t Rewriter::attributes(size_t i) {
  for (const Attribute& attribute : scan_.attributes(i)) {
    if (attribute.name == "kernel") return kernel(i);
  }
  return scan_.skip(i);
}

// `v.xyz` becomes a call; on the left of an assignment, a call whose result can be assigned to.
size_t Rewriter::swizzle(size_t i) {
  printer_.token(module_.at(i));
  if (!scan_.is_identifier(i + 1)) return i + 1;
  const std::string& name = module_.at(i + 1).text;
  const std::string letters = swizzle_letters(name);
  if (letters.empty() || scan_.is(i + 2, "(") || module_.swizzle_like_members.contains(name)) {
    return i + 1;
  }
  const bool assigned = i + 2 < scan_.size() && contains(kAssignments, module_.at(i + 2).text);
  insert(fmt::format("swizzle_{}{}()", assigned ? "ref_" : "", letters), i + 1);
  return i + 2;
}

// for (a; b; c)  →  for (a; b; poll, c)
size_t Rewriter::for_loop(size_t i) {
  const size_t open = i + 1;
  const size_t close = module_.partner[open];
  size_t semicolons = 0;
  size_t step = open + 1;
  while (step < close && semicolons < 2) {
    semicolons += scan_.is(step, ";") ? 1 : 0;
    step = scan_.skip(step);
  }
  if (semicolons < 2 || unrolled(i)) {
    printer_.token(module_.at(i));
    return i + 1;
  }
  printer_.token(module_.at(i));
  printer_.token(module_.at(open));
  range(open + 1, step);
  insert(step == close ? "norite_msl::poll_loop()" : "norite_msl::poll_loop(),", step);
  range(step, close);
  printer_.token(module_.at(close));
  return close + 1;
}

// while (c)  →  while (poll, (c)); a condition that declares a variable stays as it is
size_t Rewriter::while_loop(size_t i) {
  const size_t open = i + 1;
  const size_t close = module_.partner[open];
  const bool declares = scan_.is_identifier(open + 1) && scan_.is_identifier(open + 2);
  printer_.token(module_.at(i));
  printer_.token(module_.at(open));
  if (declares || open + 1 == close) {
    range(open + 1, close);
  } else {
    insert("norite_msl::poll_loop(), (", open + 1);
    range(open + 1, close);
    insert(")", close);
  }
  printer_.token(module_.at(close));
  return close + 1;
}

bool Rewriter::unrolled(size_t i) const {
  if (i == 0 || module_.at(i - 1).kind != TokenKind::pragma) return false;
  const std::string& pragma = module_.at(i - 1).text;
  return pragma.find("unroll") != std::string::npos && pragma.find("disable") == std::string::npos;
}

size_t Rewriter::constant_defined(size_t i) {
  const Range argument{i + 2, module_.partner[i + 1]};
  insert(constants_.contains(scan_.text(argument)) ? "true" : "false", i);
  return argument.end + 1;
}

// --- Declarations ------------------------------------------------------------------------------

// A value that does not change: a compile-time constant where its type allows.
size_t Rewriter::file_constant(size_t i, const std::string& name) {
  size_t end = i;
  while (!scan_.is(end, "=")) end = scan_.skip(end);
  bool scalar = true;
  for (size_t k = i; k < end; k = scan_.skip(k)) {
    const std::string& text = module_.at(k).text;
    const bool qualifier = text == "constant" || text == "constexpr" || text == "static" ||
                           text == "const" || text == "inline";
    scalar &= qualifier || text == name || contains(kScalars, text);
  }
  const size_t semicolon = scan_.skip_declaration(i, scan_.size()) - 1;
  if (const FunctionConstant* missing = undefined(end, semicolon)) {
    insert(fmt::format("static constexpr norite_msl::UndefinedConstant<{}> {}{{}};", missing->index,
                       name),
           i);
    return semicolon + 1;
  }
  const bool constexpr_already = scan_.text({i, end}).find("constexpr") != std::string::npos;
  insert(scalar || constexpr_already ? "static constexpr" : "static const", i);
  for (size_t k = i; k < end; ++k) {
    const std::string& text = module_.at(k).text;
    const bool qualifier = text == "constant" || text == "constexpr" || text == "static" ||
                           text == "const" || text == "inline";
    if (!qualifier) k = one(k, end) - 1;
  }
  range(end, semicolon + 1);
  return semicolon + 1;
}

// A function constant that tokens use and that has no value: what they compute has none either.
const FunctionConstant* Rewriter::undefined(size_t begin, size_t end) const {
  for (size_t i = begin; i < end; ++i) {
    if (scan_.is(i, "is_function_constant_defined")) return nullptr;  // it looks after itself
  }
  for (size_t i = begin; i < end; ++i) {
    for (const FunctionConstant& constant : module_.constants) {
      if (scan_.is(i, constant.name) && !constants_.contains(constant.name)) return &constant;
    }
  }
  return nullptr;
}

bool Rewriter::names_function_pointer(size_t i) const {
  return scan_.is(i, "(") && scan_.is(i + 1, "*") && scan_.is_identifier(i + 2) &&
         scan_.is(i + 3, ")") && scan_.is(i + 4, "(");
}

// `R (*f)(…)` as a template's parameter means the same as `R f(…)`, and clang puts what a pointer
// leads to into an address space, functions too.
size_t Rewriter::function_pointer(size_t i) {
  printer_.token(module_.at(i + 2));
  return i + 4;
}

size_t Rewriter::address_space(size_t i) {
  if (spaces_kept_ && !names_variables_space(i)) insert("norite_" + module_.at(i).text, i);
  return i + 1;
}

// `thread device T* p[4]`: the pointers are the thread's, as all variables are.
bool Rewriter::names_variables_space(size_t i) const {
  if (!scan_.is(i, "thread")) return false;
  const auto is_other = [&](size_t k) { return k != i && is_address_space(module_.at(k).text); };
  for (size_t k = i; scan_.is_identifier(k); ++k) {
    if (is_other(k)) return true;
  }
  for (size_t k = i; k > 0 && scan_.is_identifier(k - 1); --k) {
    if (is_other(k - 1)) return true;
  }
  return false;
}

// `constant T*` points to what cannot be written. A variable's own `constant` says no more than
// its `const` does.
size_t Rewriter::constant(size_t i, size_t end) {
  const bool pointee = qualifies_pointee(i, end);
  if (pointee) insert("const", i);
  return pointee || qualifies_method(i) ? address_space(i) : i + 1;
}

bool Rewriter::qualifies_pointee(size_t i, size_t end) const {
  int angles = 0;
  for (size_t k = i + 1; k < end; k = scan_.skip(k)) {
    const Token& token = module_.at(k);
    if (token.is("<")) ++angles;
    if (token.is(">")) --angles;
    if (token.is(">>")) angles -= 2;
    if (angles < 0) break;
    if (angles > 0) continue;
    if (token.is("*") || token.is("&")) return true;
    if (token.is("[")) return !scan_.attributes_at(k);  // an array as a parameter is a pointer
    if (token.kind == TokenKind::punctuation && !token.is("::") && !token.is(">")) break;
  }
  return false;
}

// `T f() const constant {…}`
bool Rewriter::qualifies_method(size_t i) const {
  while (i > 0 && (scan_.is(i - 1, "const") || scan_.is(i - 1, "volatile"))) --i;
  return i > 0 && scan_.is(i - 1, ")");
}

size_t Rewriter::threadgroup(size_t i, size_t end) {
  const size_t semicolon = starts_statement(i) ? threadgroup_declaration_end(i, end) : end;
  return semicolon < end ? threadgroup_variable(i, semicolon) : address_space(i);
}

bool Rewriter::starts_statement(size_t i) const {
  while (i > 0) {
    const Token& before = module_.at(i - 1);
    const bool specifier = before.is("static") || before.is("const") || before.is("volatile");
    if (!specifier) {
      return before.is(";") || before.is("{") || before.is("}") || before.is(")") ||
             before.is("]") || before.is(":") || before.kind == TokenKind::pragma;
    }
    --i;
  }
  return false;
}

// The `;` of a variable in threadgroup memory; `end` where this declares a pointer or reference.
size_t Rewriter::threadgroup_declaration_end(size_t i, size_t end) const {
  int angles = 0;
  for (size_t k = i + 1; k < end; k = scan_.skip(k)) {
    if (scan_.is(k, "<")) ++angles;
    if (scan_.is(k, ">")) --angles;
    if (scan_.is(k, ">>")) angles -= 2;
    if (angles > 0) continue;
    if (scan_.is(k, ";")) return k;
    if (scan_.is(k, "*") || scan_.is(k, "&") || scan_.is(k, "=") || scan_.is(k, "(") ||
        scan_.is(k, "{")) {
      return end;
    }
  }
  return end;
}

// threadgroup T a[N], b;  →  a reference into the group's memory for each
size_t Rewriter::threadgroup_variable(size_t i, size_t semicolon) {
  size_t name = i + 2;  // past at least one token of the type
  while (name < semicolon) {
    if (scan_.is(name, "<")) {
      name = scan_.skip_angles(name, semicolon);
      continue;
    }
    const bool declares =
        scan_.is_identifier(name) && !scan_.is(name - 1, "::") &&
        (name + 1 == semicolon || scan_.is(name + 1, "[") || scan_.is(name + 1, ","));
    if (declares) break;
    ++name;
  }
  if (name >= semicolon) return address_space(i);
  for (const Range declarator : scan_.split({name, semicolon})) {
    const std::string& spelling = module_.at(declarator.begin).text;
    const bool shared = target_ == Target::nvrtc;
    insert(shared ? "__shared__ norite_msl::Shared<"
                  : fmt::format("static norite_msl::ThreadgroupVariable norite_{0}; auto& {0} = "
                                "{1}::threadgroup_variable<",
                                spelling, spaces_kept_ ? "norite_lint" : "norite_msl"),
           i);
    range(i + 1, name);
    range(declarator.begin + 1, declarator.end);
    insert(shared ? fmt::format("> norite_{0}; auto& {0} = norite_{0}.value();", spelling)
                  : fmt::format(">(norite_{});", spelling),
           semicolon);
  }
  return semicolon + 1;
}

}  // namespace norite::msl
