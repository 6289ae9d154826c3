// SPDX-License-Identifier: MIT
#include "msl/lower_metal.hpp"

#include <fmt/format.h>

#include "msl/printer.hpp"

namespace norite::msl {

std::string lower_for_metal(const Module& module) {
  Printer printer(module.text);
  for (const std::string& header : module.text.metal_headers) {
    printer.lines(fmt::format("#include <{}>", header));
  }
  printer.lines("#pragma METAL fp contract(off)");
  for (const Token& token : module.text.tokens) printer.token(token);
  return std::move(printer).take() + "\n";
}

}  // namespace norite::msl
