// SPDX-License-Identifier: MIT
#include "msl/signature.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

#include "msl/shim/abi.h"

namespace norite::msl {

namespace {

struct PlaceRow {
  std::string_view attribute;
  std::string_view expression;
};

constexpr std::array kPlaces = {
    PlaceRow{"thread_position_in_grid", "t->position_in_grid"},
    PlaceRow{"thread_position_in_threadgroup", "t->position_in_group"},
    PlaceRow{"thread_index_in_threadgroup", "t->index_in_group"},
    PlaceRow{"threadgroup_position_in_grid", "t->group_position"},
    PlaceRow{"threads_per_threadgroup", "t->group_size"},
    PlaceRow{"dispatch_threads_per_threadgroup", "t->dispatch_group_size"},
    PlaceRow{"threadgroups_per_grid", "t->groups"},
    PlaceRow{"threads_per_grid", "t->grid_size"},
    PlaceRow{"grid_size", "t->grid_size"},
    PlaceRow{"grid_origin", "norite_msl::Uint3{0, 0, 0}"},
    PlaceRow{"thread_index_in_simdgroup", "t->lane"},
    PlaceRow{"simdgroup_index_in_threadgroup", "t->simdgroup"},
    PlaceRow{"simdgroups_per_threadgroup", "t->simdgroups"},
    PlaceRow{"dispatch_simdgroups_per_threadgroup", "t->simdgroups"},
    PlaceRow{"threads_per_simdgroup", "norite_msl::kSimdWidth"},
    PlaceRow{"thread_execution_width", "norite_msl::kSimdWidth"},
    PlaceRow{"thread_index_in_quadgroup", "(t->lane % 4)"},
    PlaceRow{"quadgroup_index_in_threadgroup", "(t->index_in_group / 4)"},
    PlaceRow{"quadgroups_per_threadgroup", "(8 * t->simdgroups)"},
    PlaceRow{"dispatch_quadgroups_per_threadgroup", "(8 * t->simdgroups)"},
};

class ParameterReader {
 public:
  ParameterReader(const Module& module, const Constants& constants)
      : module_(module), scan_(module), constants_(constants) {}

  Result<KernelParameter> read(Range part) {
    KernelParameter parameter;
    parameter.location = module_.at(part.begin).location;
    read_type(part, parameter);
    NORITE_TRY(read_attributes(part, parameter));
    if (parameter.kind == ParameterKind::unsupported && parameter.attribute.empty()) {
      infer_kind(parameter);
    }
    return parameter;
  }

  /// Indices are unique among buffers and among slots; the missing ones are filled in.
  Result<void> number(std::vector<KernelParameter>& parameters) {
    for (const ParameterKind kind : {ParameterKind::buffer, ParameterKind::threadgroup}) {
      std::set<unsigned> taken;
      for (const KernelParameter& parameter : parameters) {
        if (parameter.kind != kind || parameter.index == kUnnumbered) continue;
        // Metal allows one index for several parameters of which at most one is present.
        if (!taken.insert(parameter.index).second && parameter.gate.empty()) {
          return refuse(module_.text, parameter.location,
                        fmt::format("\"{}\" has index {}, as an earlier parameter has",
                                    parameter.name, parameter.index));
        }
      }
      unsigned next = 0;
      for (KernelParameter& parameter : parameters) {
        if (parameter.kind != kind || parameter.index != kUnnumbered) continue;
        while (taken.contains(next)) ++next;
        taken.insert(next);
        parameter.index = next;
      }
    }
    return {};
  }

  Result<void> check_index(const KernelParameter& parameter) const {
    const bool buffer = parameter.kind == ParameterKind::buffer;
    const unsigned limit = buffer ? norite_msl::kMaxBuffers : norite_msl::kMaxThreadgroupSlots;
    if (parameter.kind == ParameterKind::place || parameter.index < limit ||
        parameter.kind == ParameterKind::unsupported) {
      return {};
    }
    return refuse(module_.text, parameter.location,
                  fmt::format("\"{}\" has {} index {}, at most {} expected", parameter.name,
                              buffer ? "buffer" : "threadgroup", parameter.index, limit - 1));
  }

 private:
  static constexpr unsigned kUnnumbered = ~0U;

  // name and type: the name is the last word outside of brackets, unless it is the only one.
  void read_type(Range part, KernelParameter& parameter) {
    size_t name = part.end;
    size_t words = 0;
    size_t marks = 0;
    bool pointee_const = false;
    int angles = 0;
    for (size_t i = part.begin; i < part.end; i = scan_.skip(i)) {
      const Token& token = module_.at(i);
      if (token.is("<")) ++angles;
      if (token.is(">")) --angles;
      if (token.is("=")) break;
      if (angles > 0) continue;
      if (token.is("*") || token.is("&")) {
        if (marks++ == 0) parameter.by_reference = token.is("&");
      } else if (is_address_space(token.text)) {
        if (marks == 0) parameter.address_space = token.text;
      } else if (token.is("const")) {
        pointee_const |= marks == 0;
      } else if (token.is_identifier()) {
        if (words++ > 0 || marks > 0) name = i;
      }
    }
    parameter.read_only = pointee_const || parameter.address_space == "constant";
    if (name < part.end) parameter.name = module_.at(name).text;
    parameter.type = scan_.text({part.begin, name}, false);
  }

  Result<void> read_attributes(Range part, KernelParameter& parameter) {
    for (const Attribute& attribute : scan_.attributes_in(part)) {
      const bool buffer = attribute.name == "buffer";
      if (buffer || attribute.name == "threadgroup") {
        parameter.kind = buffer ? ParameterKind::buffer : ParameterKind::threadgroup;
        const auto index = evaluate(module_, attribute.arguments, constants_);
        if (!index || *index < 0 || *index >= kUnnumbered) {
          return refuse(module_.text, parameter.location,
                        fmt::format("\"{}\": [[{}({})]] is no index", parameter.name,
                                    attribute.name, scan_.text(attribute.arguments)));
        }
        parameter.index = static_cast<unsigned>(*index);
      } else if (attribute.name == "function_constant") {
        parameter.gate = scan_.text(attribute.arguments);
      } else if (!place_expression(attribute.name).empty()) {
        parameter.kind = ParameterKind::place;
        parameter.attribute = attribute.name;
      } else {
        parameter.attribute = attribute.name;
      }
    }
    return {};
  }

  static void infer_kind(KernelParameter& parameter) {
    if (parameter.address_space == "threadgroup") {
      parameter.kind = ParameterKind::threadgroup;
    } else if (!parameter.address_space.empty()) {
      parameter.kind = ParameterKind::buffer;
    }
    parameter.index = kUnnumbered;
  }

  const Module& module_;
  Scan scan_;
  const Constants& constants_;
};

}  // namespace

std::string_view place_expression(std::string_view attribute) noexcept {
  for (const PlaceRow& row : kPlaces) {
    if (row.attribute == attribute) return row.expression;
  }
  return {};
}

Result<std::vector<KernelParameter>> read_parameters(const Module& module, Range parentheses,
                                                     const Constants& constants) {
  ParameterReader reader(module, constants);
  std::vector<KernelParameter> parameters;
  for (const Range part : Scan(module).split({parentheses.begin + 1, parentheses.end - 1})) {
    if (part.empty()) continue;
    NORITE_TRY_ASSIGN(KernelParameter parameter, reader.read(part));
    parameters.push_back(std::move(parameter));
  }
  NORITE_TRY(reader.number(parameters));
  for (const KernelParameter& parameter : parameters) NORITE_TRY(reader.check_index(parameter));
  return parameters;
}

}  // namespace norite::msl
