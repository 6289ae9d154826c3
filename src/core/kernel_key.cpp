// SPDX-License-Identifier: MIT
#include "core/kernel_key.hpp"

#include <cstring>

namespace norite::core {

namespace {

constexpr size_t kMacrosOfMost = 24;

constexpr size_t kGolden = 0x9E3779B97F4A7C15ULL;

}  // namespace

std::string MacroValue::text() const {
  return literal_.empty() ? std::to_string(number_) : std::string(literal_);
}

// The first and last letters tell the few type names apart.
size_t MacroValue::hash() const noexcept {
  if (literal_.empty()) return static_cast<size_t>(number_);
  return literal_.size() << 16 | static_cast<size_t>(literal_.front()) << 8 |
         static_cast<size_t>(literal_.back());
}

Macros::Macros(std::initializer_list<Macro> macros) {
  macros_.reserve(kMacrosOfMost);
  add(macros);
}

void Macros::add(std::initializer_list<Macro> macros) {
  macros_.insert(macros_.end(), macros.begin(), macros.end());
}

Specialisation Macros::specialisation() const {
  Specialisation result;
  for (const auto& [name, value] : macros_) result.emplace(name, value.text());
  return result;
}

// A kernel's macros have the same names nearly always: values are what tells them apart. Each has
// a factor of its own, so that no product waits for another.
size_t Macros::hash() const noexcept {
  size_t hash = macros_.size(), factor = kGolden;
  for (const Macro& macro : macros_) {
    hash += macro.value.hash() * factor;
    factor += 2 * kGolden;
  }
  return hash;
}

// The key of a call that comes again is made of the same literals, and so of the same bytes.
bool operator==(const Macros& a, const Macros& b) noexcept {
  static_assert(sizeof(Macro) == 2 * sizeof(std::string_view) + sizeof(int64_t), "no padding");
  if (a.macros_.size() != b.macros_.size()) return false;
  if (a.macros_.empty()) return true;  // and may have no address
  return std::memcmp(a.macros_.data(), b.macros_.data(), a.macros_.size() * sizeof(Macro)) == 0 ||
         a.macros_ == b.macros_;
}

size_t KernelKeyHash::operator()(const KernelKey& key) const noexcept {
  return key.macros.hash() ^ std::hash<std::string_view>()(key.kernel);
}

}  // namespace norite::core
