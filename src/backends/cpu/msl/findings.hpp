// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/msl/kernel_object.hpp"
#include "norite/error.hpp"

namespace norite::cpu::msl {

/// One thread's part in a mistake.
struct Part {
  std::string_view what;  // "write by", "waits:"
  norite_msl::Uint3 group = {};
  unsigned thread = 0;
  uint32_t site = 0;  // 0: nowhere in particular
};

struct Finding {
  std::string_view kind;
  std::vector<Part> parts;  // one or two
  std::string where;        // what memory; may be empty
};

/// The mistakes that checked mode found in one dispatch.
class Findings {
 public:
  static constexpr size_t kMost = 16;

  /// Counts a mistake. True when it needs no description: its kind at these places in the code has
  /// one, or there are enough of them.
  bool seen(std::string_view kind, uint32_t site, uint32_t other_site);
  void add(Finding finding);
  /// An error that lists them with lines of the kernel's text; success when there are none.
  [[nodiscard]] Result<void> report(std::string_view kernel, const KernelObject& object) const;

 private:
  struct Key {
    std::string_view kind;
    uint32_t site, other_site;
  };
  std::vector<Key> keys_;
  std::vector<Finding> findings_;
  uint64_t total_ = 0;
};

}  // namespace norite::cpu::msl
