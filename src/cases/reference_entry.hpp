// SPDX-License-Identifier: MIT
#pragma once

#include "cases/comparison.hpp"

#include <norite/safetensors.hpp>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace norite::cases {

/// One case of a reference file: its parameters (JSON) and its tensors, named CASE/FIELD.
///
/// Every error is bad_file and names the case and the field.
class ReferenceEntry {
 public:
  ReferenceEntry(SafetensorsFile file, std::string name, nlohmann::json parameters)
      : file_(std::move(file)), name_(std::move(name)), parameters_(std::move(parameters)) {}

  [[nodiscard]] const std::string& name() const { return name_; }

  // Parameters; without a fallback they are required.
  [[nodiscard]] Result<std::string> text(const char* key,
                                         std::optional<std::string> fallback = {}) const;
  [[nodiscard]] Result<float> real(const char* key, float fallback) const;
  [[nodiscard]] Result<int64_t> integer(const char* key, int64_t least, int64_t most,
                                        std::optional<int64_t> fallback = {}) const;
  [[nodiscard]] Result<bool> flag(const char* key, bool fallback) const;

  // Tensors.
  [[nodiscard]] bool has(std::string_view field) const;
  /// Called by the field's name with `suffix` after it.
  [[nodiscard]] Result<Given> tensor(std::string_view field, std::string_view suffix = {}) const;

  [[nodiscard]] tl::unexpected<Error> bad(std::string_view what) const;

 private:
  [[nodiscard]] Result<double> number(const char* key, std::optional<double> fallback) const;

  SafetensorsFile file_;
  std::string name_;
  nlohmann::json parameters_;
};

/// The entries that a file's metadata lists under `cases`.
Result<std::vector<ReferenceEntry>> reference_entries(const SafetensorsFile& file);

}  // namespace norite::cases
