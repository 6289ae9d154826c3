// SPDX-License-Identifier: MIT
#include "msl/module.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "msl/address_space_twins.hpp"
#include "msl/scan.hpp"
#include "msl/signature.hpp"

namespace norite::msl {

namespace {

constexpr int kMaxScopes = 64;  // namespaces and classes inside each other

bool spells_swizzle(std::string_view name) {
  if (name.size() < 2 || name.size() > 4) return false;
  return name.find_first_not_of("xyzw") == std::string_view::npos ||
         name.find_first_not_of("rgba") == std::string_view::npos;
}

/// Walks the declarations of a file and notes what the module needs.
class Parser {
 public:
  explicit Parser(Module& module) : module_(module), scan_(module), twins_(module) {}

  Result<void> parse() {
    NORITE_TRY(scope({0, scan_.size()}, "", 0));
    NORITE_TRY(resolve_instantiations());
    sign_overloaded_kernels();
    return {};
  }

 private:
  struct Instantiation {
    Range item;
    std::string scope;
  };

  Result<void> scope(Range range, const std::string& path, int depth) {
    if (depth > kMaxScopes) {
      return refuse(module_.text, module_.at(range.begin).location, "too many nested scopes");
    }
    size_t i = range.begin;
    while (i < range.end) {
      if (scan_.is(i, ";") || module_.at(i).kind == TokenKind::pragma) {
        ++i;
      } else if (const Range inside = nested_scope(i, range.end); !inside.empty()) {
        const std::string name = namespace_name(i, inside.begin);
        NORITE_TRY(scope({inside.begin + 1, inside.end - 1}, join(path, name), depth + 1));
        i = inside.end;
      } else {
        const size_t end = scan_.skip_declaration(i, range.end);
        NORITE_TRY(declaration({i, end}, path, depth));
        i = end;
      }
    }
    return {};
  }

  static std::string join(const std::string& path, const std::string& name) {
    if (name.empty()) return path;
    return path.empty() ? name : path + "::" + name;
  }

  // The braces of `namespace a::b {…}` or `extern "C" {…}` at i.
  [[nodiscard]] Range nested_scope(size_t i, size_t end) const {
    if (scan_.is(i, "inline")) ++i;
    if (scan_.is(i, "extern") && i + 1 < end && module_.at(i + 1).kind == TokenKind::string) {
      i += 2;
    } else if (scan_.is(i, "namespace")) {
      ++i;
      while (i < end && (scan_.is_identifier(i) || scan_.is(i, "::"))) ++i;
    } else {
      return {};
    }
    if (!scan_.is(i, "{")) return {};
    return {i, scan_.skip(i)};
  }

  [[nodiscard]] std::string namespace_name(size_t i, size_t brace) const {
    while (i < brace && !scan_.is(i, "namespace")) ++i;
    return i < brace ? scan_.text({i + 1, brace}) : "";
  }

  Result<void> declaration(Range item, const std::string& path, int depth) {
    NORITE_TRY(class_body(item, depth));
    twins_.see(item, path);
    note_enumerators(item);
    note_constant(item);
    note_function(item, path);
    const size_t head = scan_.skip_template_head(item.begin, item.end);
    if (head == item.begin && scan_.is(head, "template")) {
      if (is_kernel({head, item.end})) pending_.push_back({item, path});
      return {};
    }
    return is_kernel({head, item.end}) ? kernel(item, path) : Result<void>();
  }

  // Members are declarations too: methods may be twins, fields may look like swizzles.
  Result<void> class_body(Range item, int depth) {
    const size_t head = scan_.skip_template_head(item.begin, item.end);
    const bool is_class = scan_.is(head, "struct") || scan_.is(head, "class") ||
                          scan_.is(head, "union") || scan_.is(head, "typedef");
    if (!is_class) return {};
    size_t brace = head;
    while (brace < item.end && !scan_.is(brace, "{") && !scan_.is(brace, ";")) {
      brace = scan_.is(brace, "(") ? scan_.skip(brace) : brace + 1;
    }
    if (brace >= item.end || !scan_.is(brace, "{")) return {};
    if (depth > kMaxScopes) {
      return refuse(module_.text, module_.at(brace).location, "too many nested scopes");
    }
    const std::string path = fmt::format("{{{}", brace);
    for (size_t i = brace + 1; i < module_.partner[brace];) {
      if (scan_.is_identifier(i) && scan_.is(i + 1, ":")) {  // public:
        i += 2;
        continue;
      }
      const size_t end = scan_.skip_declaration(i, module_.partner[brace]);
      NORITE_TRY(class_body({i, end}, depth + 1));
      twins_.see({i, end}, path);
      note_members({i, end});
      i = end;
    }
    return {};
  }

  void note_members(Range item) {
    if (!scan_.parameter_list(item.begin, item.end).empty()) return;
    for (size_t i = item.begin; i < item.end; ++i) {
      const Token& token = module_.at(i);
      if (token.is_identifier() && spells_swizzle(token.text)) {
        module_.swizzle_like_members.insert(token.text);
      }
    }
  }

  void note_function(Range item, const std::string& path) {
    const Range parameters = scan_.parameter_list(item.begin, item.end);
    if (!parameters.empty()) ++functions_[join(path, module_.at(parameters.begin - 1).text)];
  }

  // A kernel that shares its name with other functions is told from them by its parameters.
  void sign_overloaded_kernels() {
    for (Kernel& kernel : module_.kernels) {
      const KernelDefinition& definition = module_.definition_of(kernel);
      const Range item = definition.item;
      if (definition.is_template || functions_[join(definition.scope, definition.name)] < 2) {
        continue;
      }
      kernel.signature = scan_.parameter_list(item.begin, item.end);
    }
  }

  void note_enumerators(Range item) {
    if (!scan_.is(item.begin, "enum")) return;
    size_t brace = item.begin;
    while (brace < item.end && !scan_.is(brace, "{")) ++brace;
    if (brace == item.end) return;
    int64_t next = 0;
    for (const Range part : scan_.split({brace + 1, module_.partner[brace]})) {
      if (part.empty()) continue;
      if (part.begin + 2 < part.end && scan_.is(part.begin + 1, "=")) {
        const auto value = evaluate(module_, {part.begin + 2, part.end}, constants_);
        if (!value) return;
        next = *value;
      }
      constants_[module_.at(part.begin).text] = next++;
    }
  }

  // `constant T x = …;` and `constexpr T x = …;` at file scope, function constants among them.
  void note_constant(Range item) {
    const size_t head = scan_.skip_template_head(item.begin, item.end);
    size_t equals = head;
    bool in_constant_space = false;
    size_t name = item.end;
    for (; equals < item.end && !scan_.is(equals, "="); equals = scan_.skip(equals)) {
      const Token& token = module_.at(equals);
      if (token.is("(") || token.is("{") || token.is("*") || token.is("&")) return;
      in_constant_space |= token.is("constant");
      if (token.is_identifier()) name = equals;
    }
    if (name == item.end) return;
    if (equals == item.end) {
      if (in_constant_space) note_function_constant(item, name);
      return;
    }
    if (in_constant_space && head == item.begin) {
      module_.file_constants.emplace(item.begin, module_.at(name).text);
    }
    if (const auto value = evaluate(module_, {equals + 1, item.end - 1}, constants_)) {
      constants_[module_.at(name).text] = *value;
    }
  }

  void note_function_constant(Range item, size_t name) {
    for (const Attribute& attribute : scan_.attributes_in(item)) {
      if (attribute.name != "function_constant") continue;
      const auto index = evaluate(module_, attribute.arguments, constants_);
      if (!index || *index < 0 || *index > 65535) return;
      std::string type;
      for (size_t i = item.begin; i < name; ++i) {
        const Token& token = module_.at(i);
        if (token.is("constant") || token.is("static") || token.is("const")) continue;
        type += (type.empty() ? "" : " ") + token.text;
      }
      module_.constants.push_back(
          {module_.at(name).text, std::move(type), static_cast<unsigned>(*index), item});
    }
  }

  [[nodiscard]] bool is_kernel(Range item) const {
    for (size_t i = item.begin; i < item.end; i = scan_.skip(i)) {
      if (scan_.is(i, "kernel")) return true;
      if (scan_.attributes_at(i)) {
        for (const Attribute& attribute : scan_.attributes(i)) {
          if (attribute.name == "kernel") return true;
        }
      }
      if (scan_.is(i, "(") || scan_.is(i, "{") || scan_.is(i, "=")) return false;
    }
    return false;
  }

  Result<void> kernel(Range item, const std::string& path) {
    const Range parameters = scan_.parameter_list(item.begin, item.end);
    if (parameters.empty()) {
      return refuse(module_.text, module_.at(item.begin).location,
                    "a kernel without a parameter list");
    }
    if (!scan_.is(item.end - 1, "}")) return {};  // a declaration; the definition follows
    KernelDefinition definition;
    definition.name = module_.at(parameters.begin - 1).text;
    definition.scope = path;
    definition.is_template = scan_.is(item.begin, "template");
    definition.item = item;
    NORITE_TRY_ASSIGN(definition.parameters, read_parameters(module_, parameters, constants_));
    const Range head{item.begin, parameters.begin};
    definition.max_threads = number_in(head, "max_total_threads_per_threadgroup");
    definition.cooperative = number_in(head, "cooperative");
    if (!definition.is_template) {
      const std::string name = host_name(head);
      NORITE_TRY(add_kernel({.name = name.empty() ? definition.name : name,
                             .definition = module_.definitions.size(),
                             .location = module_.at(parameters.begin - 1).location}));
    }
    module_.definitions.push_back(std::move(definition));
    return {};
  }

  /// What the attribute says, if it is a positive number; else 0.
  [[nodiscard]] unsigned number_in(Range head, std::string_view name) const {
    for (const Attribute& attribute : scan_.attributes_in(head)) {
      if (attribute.name != name) continue;
      const auto value = evaluate(module_, attribute.arguments, constants_);
      if (value && *value > 0) return static_cast<unsigned>(*value);
    }
    return 0;
  }

  [[nodiscard]] std::string host_name(Range range) const {
    for (const Attribute& attribute : scan_.attributes_in(range)) {
      if (attribute.name != "host_name") continue;
      std::string name;
      for (size_t i = attribute.arguments.begin; i < attribute.arguments.end; ++i) {
        const std::string& part = module_.at(i).text;
        if (part.size() >= 2 && part.front() == '"') name += part.substr(1, part.size() - 2);
      }
      return name;
    }
    return {};
  }

  Result<void> add_kernel(Kernel kernel) {
    if (!names_.insert(kernel.name).second) {
      return refuse(module_.text, kernel.location,
                    fmt::format("a kernel named \"{}\" is there already", kernel.name));
    }
    module_.kernels.push_back(std::move(kernel));
    return {};
  }

  // Instantiations may stand before other definitions of the file are known.
  Result<void> resolve_instantiations() {
    std::map<std::string, size_t, std::less<>> templates;
    for (size_t d = 0; d < module_.definitions.size(); ++d) {
      if (module_.definitions[d].is_template) templates[module_.definitions[d].name] = d;
    }
    for (const Instantiation& pending : pending_) {
      module_.instantiations.push_back(pending.item);
      NORITE_TRY(instantiate(pending.item, templates));
    }
    return {};
  }

  // template [[host_name("n")]] [[kernel]] R name<arguments>(…);   or   decltype(…) name<…>;
  Result<void> instantiate(Range item,
                           const std::map<std::string, size_t, std::less<>>& templates) {
    size_t name = item.end;
    for (size_t i = item.begin; i < item.end; i = scan_.skip(i)) {
      if (scan_.is_identifier(i) && templates.contains(module_.at(i).text)) name = i;
    }
    if (name == item.end) {
      return refuse(module_.text, module_.at(item.begin).location,
                    "the instantiation of a kernel template that is not in this file");
    }
    Kernel kernel{.name = host_name(item),
                  .definition = templates.at(module_.at(name).text),
                  .location = module_.at(name).location};
    if (scan_.is(name + 1, "<")) {
      kernel.arguments = {name + 1, scan_.skip_angles(name + 1, item.end)};
    } else if (scan_.is(name + 1, "(")) {
      kernel.signature = {name + 1, scan_.skip(name + 1)};
    }
    if (kernel.name.empty())
      kernel.name = scan_.text({name, std::max(kernel.arguments.end, name + 1)});
    return add_kernel(std::move(kernel));
  }

  Module& module_;
  Scan scan_;
  AddressSpaceTwins twins_;
  Constants constants_;
  std::set<std::string, std::less<>> names_;
  std::map<std::string, int, std::less<>> functions_;  // how many have the name
  std::vector<Instantiation> pending_;
};

}  // namespace

bool KernelDefinition::supported() const noexcept {
  return std::ranges::none_of(parameters, [](const KernelParameter& parameter) {
    return parameter.kind == ParameterKind::unsupported;
  });
}

const Kernel* Module::find(std::string_view name) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const Kernel& kernel) { return kernel.name == name; });
  return found == kernels.end() ? nullptr : &*found;
}

Result<Module> parse(const Source& source, const Specialisation& macros) {
  Module module;
  NORITE_TRY_ASSIGN(module.text, preprocess(source, macros));
  NORITE_TRY_ASSIGN(module.partner, match_brackets(module.text));
  NORITE_TRY(Parser(module).parse());
  return module;
}

}  // namespace norite::msl
