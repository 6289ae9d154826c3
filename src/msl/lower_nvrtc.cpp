// SPDX-License-Identifier: MIT
#include "msl/lower_nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "msl/lowering.hpp"
#include "msl/parameters.hpp"
#include "msl/shim.hpp"
#include "msl/shim/abi.h"
#include "msl/signature.hpp"

namespace norite::msl {

namespace {

using Kind = NvrtcParameter::Kind;

/// What is atomic or volatile may change while the kernel runs: it has to stay where it is.
Kind kind_of(const KernelParameter& parameter, References references) {
  const bool fixed = parameter.by_reference && parameter.read_only &&
                     parameter.type.find("atomic") == std::string::npos &&
                     parameter.type.find("volatile") == std::string::npos;
  return fixed && references == References::by_value ? Kind::value : Kind::pointer;
}

/// Positions of the present parameters of a kind, by their indices.
std::vector<size_t> in_order(const KernelDefinition& definition, ParameterKind kind,
                             const ConstantValues& constants) {
  std::vector<size_t> order;
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    const KernelParameter& parameter = definition.parameters[i];
    if (parameter.kind == kind && !absent(parameter, constants)) order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](size_t position) {
    return std::pair(definition.parameters[position].index, position);
  });
  return order;
}

/// The entry's parameters: bI and tI stand for the kernel's parameter I.
std::string entry_parameters(const KernelDefinition& definition, const ConstantValues& constants,
                             References references) {
  std::string text;
  for (const size_t i : in_order(definition, ParameterKind::buffer, constants)) {
    const bool value = kind_of(definition.parameters[i], references) == Kind::value;
    text += fmt::format("{}norite_msl::{}_t<NoriteKernel, {}> b{}, ",
                        value ? "const __grid_constant__ " : "", value ? "value" : "pointer", i, i);
  }
  for (const size_t i : in_order(definition, ParameterKind::threadgroup, constants)) {
    text += fmt::format("unsigned t{}, ", i);
  }
  return text + "const __grid_constant__ norite_msl::GridShape shape";
}

/// Statements that read ahead what was launched with the kernel.
std::string touches(const KernelDefinition& definition, const ConstantValues& constants,
                    References references) {
  std::string text;
  for (const size_t i : in_order(definition, ParameterKind::buffer, constants)) {
    if (kind_of(definition.parameters[i], references) != Kind::value) continue;
    text += fmt::format("norite_msl::touch(b{}); ", i);
  }
  return text;
}

/// One argument of the kernel, made of the entry's parameters.
std::string argument(const KernelParameter& parameter, size_t i, const ConstantValues& constants,
                     References references) {
  if (parameter.kind == ParameterKind::place) {
    return fmt::format("norite_msl::place_argument<NoriteKernel, {}>({})", i,
                       place_expression(parameter.attribute));
  }
  if (absent(parameter, constants)) {
    return fmt::format("norite_msl::absent_argument<NoriteKernel, {}>()", i);
  }
  if (parameter.kind == ParameterKind::threadgroup) {
    return fmt::format("norite_msl::threadgroup_argument<NoriteKernel, {0}>(t{0})", i);
  }
  if (kind_of(parameter, references) == Kind::value) return fmt::format("b{}.get()", i);
  return fmt::format("{}b{}", parameter.by_reference ? "*" : "", i);
}

std::string arguments(const KernelDefinition& definition, const ConstantValues& constants,
                      References references) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    texts.push_back(argument(definition.parameters[i], i, constants, references));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string buffer_bytes(const KernelDefinition& definition, const ConstantValues& constants) {
  std::array<std::string, norite_msl::kMaxBuffers> bytes;
  bytes.fill("0");
  for (const size_t i : in_order(definition, ParameterKind::buffer, constants)) {
    bytes[definition.parameters[i].index] =
        fmt::format("norite_msl::buffer_bytes<NoriteKernel, {}>()", i);
  }
  return fmt::format("{}", fmt::join(bytes, ", "));
}

void print_entry(const Module& module, const Kernel& kernel, const ConstantValues& constants,
                 References references, Rewriter& rewriter, Printer& printer) {
  const KernelDefinition& definition = module.definition_of(kernel);
  printer.insert("using NoriteKernel = decltype(", kernel.location);
  print_address(module, kernel, rewriter, printer);
  std::string bounds;
  if (definition.max_threads > 0) {
    // Where nothing is asked for, the compiler finds a better balance than with a 1.
    bounds = definition.cooperative > 0
                 ? fmt::format("__launch_bounds__({}, {}) ", definition.max_threads,
                               definition.cooperative)
                 : fmt::format("__launch_bounds__({}) ", definition.max_threads);
  }
  printer.insert(
      fmt::format("); extern \"C\" __global__ void {}norite_msl_entry({}) {{ "
                  "norite_msl::ThreadPlace place; if (!norite_msl::find_place(shape, place)) "
                  "return; {}norite_msl::wait_for_turn(); "
                  "[[maybe_unused]] const norite_msl::ThreadPlace* const t = &place; (",
                  bounds, entry_parameters(definition, constants, references),
                  touches(definition, constants, references)),
      kernel.location);
  print_address(module, kernel, rewriter, printer);
  printer.insert(fmt::format(")({}); }}", arguments(definition, constants, references)),
                 kernel.location);
  printer.lines(
      fmt::format("extern \"C\" __device__ const unsigned long norite_msl_buffer_bytes[] = {{{}}};",
                  buffer_bytes(definition, constants)));
}

}  // namespace

std::vector<NvrtcParameter> nvrtc_parameters(const Module& module, const Kernel& kernel,
                                             const ConstantValues& constants,
                                             References references) {
  const KernelDefinition& definition = module.definition_of(kernel);
  std::vector<NvrtcParameter> result;
  for (const size_t i : in_order(definition, ParameterKind::buffer, constants)) {
    const KernelParameter& parameter = definition.parameters[i];
    result.push_back({parameter.index, kind_of(parameter, references)});
  }
  return result;
}

Result<std::string> lower_for_nvrtc(const Module& module, const Kernel& kernel,
                                    const ConstantValues& constants, References references) {
  NORITE_TRY(check_parameters(module, kernel));
  Printer printer(module.text);
  Rewriter rewriter(module, constants, printer, AddressSpaces::removed, Target::nvrtc);
  printer.lines("#line 1 \"metal_stdlib\"");
  printer.lines(shim_text(Target::nvrtc));
  printer.lines(constant_definitions(module, constants));
  rewriter.whole(std::span(&kernel, 1));
  in_scope_of(module.definition_of(kernel), printer,
              [&] { print_entry(module, kernel, constants, references, rewriter, printer); });
  return std::move(printer).take();
}

std::span<const std::string_view> nvrtc_options() noexcept {
  static constexpr std::array<std::string_view, 4> options = {"-std=c++17", "-default-device",
                                                              "-fmad=false", "--device-int128"};
  return options;
}

}  // namespace norite::msl
