// SPDX-License-Identifier: MIT
#include "msl/portability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "msl/constant_expression.hpp"
#include "msl/scalar_size.hpp"
#include "msl/scan.hpp"
#include "msl/unqualified_pointers.hpp"

namespace norite::msl {

namespace {

using Severity = Diagnostic::Severity;

constexpr int64_t kMaxThreadgroupBytes = 32 * 1024;
constexpr unsigned kMaxThreads = 1024;

constexpr std::array<std::string_view, 12> kForbidden = {
    "double", "goto",         "try",    "throw",   "catch",        "new",
    "delete", "dynamic_cast", "typeid", "virtual", "thread_local", "asm"};

bool is_forbidden(std::string_view word) {
  return std::ranges::find(kForbidden, word) != kForbidden.end();
}

class Rules {
 public:
  explicit Rules(const Module& module)
      : module_(module), scan_(module), found_(unqualified_pointers(module)) {}

  std::vector<Finding> run() {
    for (size_t i = 0; i < scan_.size(); ++i) {
      if (!module_.at(i).is_identifier()) continue;
      forbidden_word(i);
      threadgroup_array(i);
    }
    for (const KernelDefinition& definition : module_.definitions) kernel(definition);
    float_sums();
    return std::move(found_);
  }

 private:
  void add(Severity severity, size_t i, std::string message) {
    found_.push_back({severity, module_.at(i).location, std::move(message)});
  }

  // Not a member of that name, an operator's declaration, or `= delete`.
  void forbidden_word(size_t i) {
    const Token& token = module_.at(i);
    if (!is_forbidden(token.text)) return;
    const bool harmless =
        i > 0 && (scan_.is(i - 1, ".") || scan_.is(i - 1, "->") || scan_.is(i - 1, "operator") ||
                  (token.is("delete") && scan_.is(i - 1, "=")));
    if (!harmless) add(Severity::error, i, fmt::format("Metal has no '{}'", token.text));
  }

  // threadgroup T name[N][M]; with T and the sizes known at sight
  void threadgroup_array(size_t i) {
    if (!scan_.is(i, "threadgroup") || !scan_.is_identifier(i + 2)) return;
    int64_t bytes = bytes_of_type(module_.at(i + 1).text);
    size_t open = i + 3;
    for (; scan_.is(open, "[") && bytes <= kMaxThreadgroupBytes; open = scan_.skip(open)) {
      const auto size = evaluate(module_, {open + 1, module_.partner[open]}, {});
      if (!size || *size < 0 || *size > kMaxThreadgroupBytes + 1) return;
      bytes *= *size;
    }
    if (bytes <= kMaxThreadgroupBytes) return;
    add(Severity::error, i + 2,
        fmt::format("'{}' does not fit in threadgroup memory, of which Metal gives {} bytes",
                    module_.at(i + 2).text, kMaxThreadgroupBytes));
  }

  void kernel(const KernelDefinition& definition) {
    if (definition.max_threads > kMaxThreads) {
      add(Severity::error, definition.item.begin,
          fmt::format("kernel '{}' asks for {} threads in a threadgroup, Metal has {}",
                      definition.name, definition.max_threads, kMaxThreads));
    }
    const Range parameters = scan_.parameter_list(definition.item.begin, definition.item.end);
    for (size_t i = definition.item.begin; i < parameters.begin; ++i) {
      if (scan_.is(i, "void")) return;
    }
    add(Severity::error, definition.item.begin,
        fmt::format("kernel '{}' returns something other than void", definition.name));
  }

  // What a function adds to is not seen here; a text without such calls does not add.
  void float_sums() {
    size_t first = scan_.size();
    bool adds = false;
    for (size_t i = scan_.size(); i-- > 0;) {
      const bool type = scan_.is(i, "atomic_float") ||
                        (scan_.is(i, "atomic") && scan_.is(i + 1, "<") && scan_.is(i + 2, "float"));
      if (type) first = i;
      adds |= scan_.is(i, "atomic_fetch_add_explicit") || scan_.is(i, "atomic_fetch_sub_explicit");
    }
    if (!adds || first == scan_.size()) return;
    add(Severity::warning, first,
        "sums by float atomics depend on the order of threads: results differ between runs");
  }

  const Module& module_;
  Scan scan_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> check_portability(const Module& module) { return Rules(module).run(); }

}  // namespace norite::msl
