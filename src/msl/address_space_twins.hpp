// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <string>

#include "msl/scan.hpp"

namespace norite::msl {

/// Finds overloads, methods and specialisations that differ in address spaces alone. Where all
/// memory is one space they would be redefinitions: the first is kept.
class AddressSpaceTwins {
 public:
  explicit AddressSpaceTwins(Module& module) : module_(module), scan_(module) {}

  /// `scope` names where the declaration stands; equal heads in different scopes are no twins.
  void see(Range item, const std::string& scope);

 private:
  struct Head {
    std::string text;  // as written
    bool qualified;    // names an address space
  };

  /// The declaration up to its body: address spaces erased, parameters unnamed.
  [[nodiscard]] std::string erased_head(Range head) const;
  void append(std::string& key, Range range) const;

  Module& module_;
  Scan scan_;
  std::map<std::string, Head, std::less<>> seen_;  // by erased head
};

}  // namespace norite::msl
