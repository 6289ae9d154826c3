// SPDX-License-Identifier: MIT
#include "msl/lower_clang.hpp"

#include <fmt/format.h>

#include <array>

#include "msl/lowering.hpp"
#include "msl/parameters.hpp"
#include "msl/shim.hpp"
#include "msl/shim/abi.h"
#include "msl/signature.hpp"

namespace norite::msl {

namespace {

std::string argument_list(const KernelDefinition& definition, const ConstantValues& constants) {
  std::string text;
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    const KernelParameter& parameter = definition.parameters[i];
    if (i > 0) text += ", ";
    if (parameter.kind == ParameterKind::place) {
      text += fmt::format("norite_msl::place_argument<NoriteKernel, {}>({})", i,
                          place_expression(parameter.attribute));
    } else if (absent(parameter, constants)) {
      text += fmt::format("norite_msl::absent_argument<NoriteKernel, {}>()", i);
    } else {
      text += fmt::format("norite_msl::{}_argument<NoriteKernel, {}>(a, {})",
                          parameter.kind == ParameterKind::buffer ? "buffer" : "threadgroup", i,
                          parameter.index);
    }
  }
  return text;
}

std::string buffer_sizes(const KernelDefinition& definition, const ConstantValues& constants) {
  std::array<std::string, norite_msl::kMaxBuffers> sizes;
  sizes.fill("0");
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    const KernelParameter& parameter = definition.parameters[i];
    if (parameter.kind != ParameterKind::buffer || absent(parameter, constants)) continue;
    sizes[parameter.index] = fmt::format("norite_msl::buffer_bytes<NoriteKernel, {}>()", i);
  }
  return fmt::format("{}", fmt::join(sizes, ", "));
}

/// A call of the kernel with what the executor hands over, under names that end in `suffix`.
void print_run(const Module& module, const Kernel& kernel, const ConstantValues& constants,
               std::string_view suffix, Rewriter& rewriter, Printer& printer) {
  const KernelDefinition& definition = module.definition_of(kernel);
  printer.insert(fmt::format("using NoriteKernel{} = decltype(", suffix), kernel.location);
  print_address(module, kernel, rewriter, printer);
  printer.insert(fmt::format("); static constexpr NoriteKernel{0} norite_kernel{0} = ", suffix),
                 kernel.location);
  print_address(module, kernel, rewriter, printer);
  printer.insert(";", kernel.location);
  printer.insert(
      fmt::format("static void norite_run{0}([[maybe_unused]] const norite_msl::ThreadPlace* t, "
                  "[[maybe_unused]] const norite_msl::Arguments* a) {{ "
                  "using NoriteKernel = NoriteKernel{0}; norite_kernel{0}({1}); }}",
                  suffix, argument_list(definition, constants)),
      kernel.location);
}

void print_entry(const Module& module, const Kernel& kernel, const ConstantValues& constants,
                 Rewriter& rewriter, Printer& printer) {
  const KernelDefinition& definition = module.definition_of(kernel);
  print_run(module, kernel, constants, "", rewriter, printer);
  printer.lines(
      fmt::format("extern \"C\" __attribute__((visibility(\"default\")))\n"
                  "const norite_msl::Entry norite_msl_entry = {{norite_run, "
                  "norite_msl::attach, {{{}}}}};",
                  buffer_sizes(definition, constants)));
}

void print_text(const Module& module, std::span<const Kernel> kernels,
                const ConstantValues& constants, Rewriter& rewriter, Printer& printer) {
  printer.lines(clang_library());
  printer.lines(constant_definitions(module, constants));
  rewriter.whole(kernels);
}

}  // namespace

const std::string& clang_library() {
  static const std::string text = "#line 1 \"metal_stdlib\"\n" + shim_text();
  return text;
}

std::optional<std::string_view> after_clang_library(std::string_view lowered_text) {
  const std::string& library = clang_library();
  const size_t begin = lowered_text.find_first_not_of('\n');
  if (begin == lowered_text.npos || !lowered_text.substr(begin).starts_with(library)) {
    return std::nullopt;
  }
  return lowered_text.substr(begin + library.size());
}

Result<std::string> lower_for_clang(const Module& module, const Kernel& kernel,
                                    const ConstantValues& constants) {
  NORITE_TRY(check_parameters(module, kernel));
  Printer printer(module.text);
  Rewriter rewriter(module, constants, printer);
  print_text(module, std::span(&kernel, 1), constants, rewriter, printer);
  in_scope_of(module.definition_of(kernel), printer,
              [&] { print_entry(module, kernel, constants, rewriter, printer); });
  return std::move(printer).take();
}

std::string lower_all_for_clang(const Module& module, std::span<const Kernel> kernels,
                                const ConstantValues& constants) {
  Printer printer(module.text);
  Rewriter rewriter(module, constants, printer);
  print_text(module, kernels, constants, rewriter, printer);
  size_t number = 0;
  for (const Kernel& kernel : kernels) {
    in_scope_of(module.definition_of(kernel), printer, [&] {
      print_run(module, kernel, constants, fmt::format("_{}", number++), rewriter, printer);
    });
  }
  return std::move(printer).take();
}

}  // namespace norite::msl
