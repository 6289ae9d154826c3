// SPDX-License-Identifier: MIT
#include "core/kernel_key.hpp"

namespace norite::core {

namespace {

constexpr size_t kMacrosOfMost = 16;

size_t mixed(size_t hash, size_t more) noexcept {
  return (hash ^ more) * 0x9E3779B97F4A7C15ULL + (hash >> 32);
}

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

// A kernel's macros have the same names nearly always: values are what tells them apart.
size_t Macros::hash() const noexcept {
  size_t hash = macros_.size();
  for (const Macro& macro : macros_) hash = mixed(hash, macro.value.hash());
  return hash;
}

size_t KernelKeyHash::operator()(const KernelKey& key) const noexcept {
  return mixed(key.macros.hash(), std::hash<std::string_view>()(key.kernel));
}

}  // namespace norite::core
