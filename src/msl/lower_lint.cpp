// SPDX-License-Identifier: MIT
#include "msl/lower_lint.hpp"

#include <map>

#include "msl/lowering.hpp"
#include "msl/shim.hpp"

namespace norite::msl {

namespace {

// Address spaces seldom depend on a template's arguments; files with hundreds of instances exist.
constexpr int kMostInstances = 4;

}  // namespace

std::string lower_for_lint(const Module& module, std::span<const Kernel> kernels,
                           const ConstantValues& constants) {
  Printer printer(module.text);
  Rewriter rewriter(module, constants, printer, AddressSpaces::kept);
  printer.lines("#line 1 \"metal_stdlib\"");
  printer.lines(lint_shim_text());
  printer.lines(constant_definitions(module, constants));
  rewriter.whole(kernels);
  size_t number = 0;
  std::map<size_t, int> instances;
  for (const Kernel& kernel : kernels) {
    if (kernel.arguments.empty() && kernel.signature.empty()) continue;
    if (++instances[kernel.definition] > kMostInstances) continue;
    // Naming a template's instance is what makes clang look into it.
    in_scope_of(module.definition_of(kernel), printer, [&] {
      printer.insert(fmt::format("static void norite_name_{}() {{ (void)", number++),
                     kernel.location);
      print_address(module, kernel, rewriter, printer);
      printer.insert("; }", kernel.location);
    });
  }
  return std::move(printer).take();
}

}  // namespace norite::msl
