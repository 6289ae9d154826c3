// SPDX-License-Identifier: MIT
// A kernel and its macros as operations name them at every dispatch: a KernelId takes two strings a
// macro to make and to compare, this takes none.
#pragma once

#include <array>
#include <concepts>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

#include "norite/kernel_registry.hpp"

namespace norite::core {

/// A number, or text that lives as long as the program and is known by its address.
class MacroValue {
 public:
  MacroValue() = default;
  MacroValue(const char* literal)
      : literal_(literal), number_(0) {}  // NOLINT: as macros are written
  template <std::integral T>
  MacroValue(T number) : literal_(nullptr), number_(static_cast<int64_t>(number)) {}  // NOLINT

  [[nodiscard]] std::string text() const;
  [[nodiscard]] size_t hash() const noexcept {
    return reinterpret_cast<uintptr_t>(literal_) + static_cast<size_t>(number_);
  }

 private:
  const char* literal_;
  int64_t number_;
};

struct Macro {
  const char* name;  // a literal
  MacroValue value;
};

/// Names and texts are compared by their addresses: the same macros written elsewhere, or in
/// another order, count as others. They find the same kernel.
class Macros {
 public:
  Macros(std::initializer_list<Macro> macros) { add(macros); }

  void add(std::initializer_list<Macro> macros) {
    if (count_ + macros.size() > kMost) std::terminate();  // no kernel has so many
    for (const Macro& macro : macros) macros_[count_++] = macro;
  }
  [[nodiscard]] Specialisation specialisation() const;
  [[nodiscard]] size_t hash() const noexcept;
  friend bool operator==(const Macros& a, const Macros& b) noexcept;

 private:
  static constexpr size_t kMost = 28;

  std::array<Macro, kMost> macros_;  // not zeroed: this is the path of every dispatch
  size_t count_ = 0;
};

struct KernelKey {
  const char* kernel;  // a literal
  Macros macros;

  [[nodiscard]] KernelId id() const { return {kernel, macros.specialisation()}; }
  friend bool operator==(const KernelKey&, const KernelKey&) = default;
};

struct KernelKeyHash {
  size_t operator()(const KernelKey& key) const noexcept;
};

}  // namespace norite::core
