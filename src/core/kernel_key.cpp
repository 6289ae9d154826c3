// SPDX-License-Identifier: MIT
#include "core/kernel_key.hpp"

#include <cstring>

namespace norite::core {

std::string MacroValue::text() const {
  return literal_ == nullptr ? std::to_string(number_) : std::string(literal_);
}

Specialisation Macros::specialisation() const {
  Specialisation result;
  for (size_t i = 0; i < count_; ++i) result.emplace(macros_[i].name, macros_[i].value.text());
  return result;
}

// A kernel's macros have the same names nearly always: values are what tells them apart. Each has
// a factor of its own, so that no product waits for another.
size_t Macros::hash() const noexcept {
  constexpr size_t kGolden = 0x9E3779B97F4A7C15ULL;
  size_t hash = count_, factor = kGolden;
  for (size_t i = 0; i < count_; ++i) {
    hash += macros_[i].value.hash() * factor;
    factor += 2 * kGolden;
  }
  return hash;
}

bool operator==(const Macros& a, const Macros& b) noexcept {
  static_assert(sizeof(Macro) == 2 * sizeof(const char*) + sizeof(int64_t), "no padding");
  return a.count_ == b.count_ &&
         std::memcmp(a.macros_.data(), b.macros_.data(), a.count_ * sizeof(Macro)) == 0;
}

size_t KernelKeyHash::operator()(const KernelKey& key) const noexcept {
  return key.macros.hash() ^ reinterpret_cast<uintptr_t>(key.kernel);
}

}  // namespace norite::core
