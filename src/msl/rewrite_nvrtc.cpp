// SPDX-License-Identifier: MIT
// What kernels may write and NVRTC does not take, though clang and Metal's compiler do.
#include <fmt/format.h>

#include "msl/rewrite.hpp"

namespace norite::msl {

size_t Rewriter::punctuation_for_nvrtc(size_t i) {
  const Token& token = module_.at(i);
  if (token.kind == TokenKind::pragma) return pragma(i);
  if (token.is("?")) return conditional(i);
  if (token.is("=") && scan_.is(i + 1, "{") && scan_.is(i + 2, "[") && scan_.is(i + 4, "...")) {
    if (const size_t name = array_before(i); name < i) return array_range(i, name);
  }
  printer_.token(token);
  return i + 1;
}

// NVRTC has `#pragma unroll`, and none of clang's own.
size_t Rewriter::pragma(size_t i) {
  Token token = module_.at(i);
  if (token.text.starts_with("clang")) {
    if (token.text.find("unroll") == std::string::npos) return i + 1;
    token.text = unrolled(i + 1) ? "unroll" : "unroll 1";
  }
  printer_.token(token);
  return i + 1;
}

/// The name of the array whose declarator ends before i; i where there is none.
size_t Rewriter::array_before(size_t equals) const {
  size_t name = equals - 1;
  while (scan_.is(name, "]")) name = module_.partner[name] - 1;
  return name + 1 < equals && scan_.is_identifier(name) ? name : equals;
}

// T a[N] = {[0 ... N - 1] = v};  →  T a[N]; for (auto& each : a) each = v;
size_t Rewriter::array_range(size_t i, size_t name) {
  const size_t brace = i + 1, bracket = i + 2;
  const size_t close = module_.partner[brace];
  insert(fmt::format("; for (auto& norite_each : {}) norite_each =", module_.at(name).text), i);
  range(module_.partner[bracket] + 2, close);
  return close + 1;
}

// c ? a : b  →  c ? meet<A, B>(a) : meet<B, A>(b), where A and B are the types of a and b. With
// half a class, which converts to float and back, C++ could not choose between the two. Operands
// with conditionals, braces or template brackets of their own stay as they are.
size_t Rewriter::conditional(size_t i) {
  const size_t colon = operand_end(i + 1);
  const size_t end = scan_.is(colon, ":") ? operand_end(colon + 1) : scan_.size();
  const bool plain = end < scan_.size() && !scan_.is(end, ":");
  const auto literal = [&](size_t first, size_t last) {
    return last == first + 1 && module_.at(first).kind == TokenKind::number;
  };
  printer_.token(module_.at(i));
  if (!plain || (literal(i + 1, colon) && literal(colon + 1, end))) return i + 1;
  const auto operand = [&](size_t a, size_t a_end, size_t b, size_t b_end) {
    insert("norite_msl::meet<decltype((", a);
    range(a, a_end);
    insert(")), decltype((", b);
    range(b, b_end);
    insert("))>(", a);
    range(a, a_end);
    insert(")", a_end);
  };
  operand(i + 1, colon, colon + 1, end);
  printer_.token(module_.at(colon));
  operand(colon + 1, end, i + 1, colon);
  return end;
}

/// The token that ends an operand of a conditional; none for an operand that stays as it is.
size_t Rewriter::operand_end(size_t i) const {
  int angles = 0;
  for (; i < scan_.size(); ++i) {
    const Token& token = module_.at(i);
    if (token.is(":") || token.is(";") || token.is(")") || token.is("]") || token.is("}")) return i;
    if (token.is(",")) return angles == 0 ? i : scan_.size();
    angles += token.is("<") ? 1 : token.is(">") ? -1 : 0;
    if (angles < 0 || token.is(">>") || token.is("?") || token.is("{")) return scan_.size();
    if (!token.is("(") && !token.is("[")) continue;
    for (const size_t close = module_.partner[i]; i < close; ++i) {
      if (scan_.is(i, "?") || scan_.is(i, "{")) return scan_.size();
    }
  }
  return i;
}

// A specialisation at file scope: NVRTC wants to be told of which namespace's template.
void Rewriter::qualify_for_nvrtc(size_t i) {
  if (i > 0 && scan_.is(i - 1, "struct") && scan_.is(i, "_numeric_limits_impl")) {
    insert("metal::", i);
  }
}

}  // namespace norite::msl
