// SPDX-License-Identifier: MIT
// A compiled kernel in this process.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "backends/cpu/msl/variables.hpp"
#include "msl/shim/abi.h"
#include "norite/error.hpp"

namespace norite::cpu::msl {

class KernelObject {
 public:
  /// Loads a shared object and attaches the executor's services to it. The same file opened again
  /// is the same object: its variables have one place each. `checked` says how it was compiled.
  static Result<std::shared_ptr<KernelObject>> open(const std::filesystem::path& path,
                                                    const norite_msl::Runtime& runtime,
                                                    bool checked);
  ~KernelObject();
  KernelObject(const KernelObject&) = delete;
  KernelObject& operator=(const KernelObject&) = delete;

  [[nodiscard]] const norite_msl::Entry& entry() const noexcept { return *entry_; }
  /// Whether it reports each access to memory.
  [[nodiscard]] bool checked() const noexcept { return checked_; }
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] Variables& variables() const noexcept { return variables_; }

  /// Whether the address lies in the object itself: its code, constants and data.
  [[nodiscard]] bool contains(const void* address) const noexcept {
    return reinterpret_cast<uintptr_t>(address) - base_ < bytes_;
  }
  /// An address in the object as its debug information counts it.
  [[nodiscard]] uint32_t offset(const void* address) const noexcept {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address) - base_);
  }

 private:
  KernelObject() = default;

  std::filesystem::path path_;
  void* handle_ = nullptr;
  const norite_msl::Entry* entry_ = nullptr;
  bool checked_ = false;
  uintptr_t base_ = 0;
  uintptr_t bytes_ = 0;
  mutable Variables variables_;
};

}  // namespace norite::cpu::msl
