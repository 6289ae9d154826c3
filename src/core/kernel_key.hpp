// SPDX-License-Identifier: MIT
// A kernel and its macros as operations name them at every dispatch: a KernelId takes two strings a
// macro to make and to compare, this takes none.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "norite/kernel_registry.hpp"

namespace norite::core {

/// A literal or a number.
class MacroValue {
 public:
  MacroValue() = default;
  MacroValue(std::string_view literal) : literal_(literal) {}  // NOLINT: as macros are written
  MacroValue(const char* literal) : literal_(literal) {}       // NOLINT
  MacroValue(const std::string&) = delete;                     // would not live long enough
  template <std::integral T>
  MacroValue(T number) : number_(static_cast<int64_t>(number)) {}  // NOLINT

  [[nodiscard]] std::string text() const;
  [[nodiscard]] size_t hash() const noexcept;
  friend bool operator==(const MacroValue&, const MacroValue&) = default;

 private:
  std::string_view literal_;
  int64_t number_ = 0;
};

struct Macro {
  std::string_view name;  // a literal
  MacroValue value;

  friend bool operator==(const Macro&, const Macro&) = default;
};

class Macros {
 public:
  Macros(std::initializer_list<Macro> macros);

  void add(std::initializer_list<Macro> macros);
  [[nodiscard]] Specialisation specialisation() const;
  [[nodiscard]] size_t hash() const noexcept;
  /// Those that were written in another order count as others: they find the same kernel.
  friend bool operator==(const Macros& a, const Macros& b) noexcept;

 private:
  std::vector<Macro> macros_;
};

struct KernelKey {
  std::string_view kernel;  // a literal
  Macros macros;

  [[nodiscard]] KernelId id() const { return {std::string(kernel), macros.specialisation()}; }
  friend bool operator==(const KernelKey&, const KernelKey&) = default;
};

struct KernelKeyHash {
  size_t operator()(const KernelKey& key) const noexcept;
};

}  // namespace norite::core
