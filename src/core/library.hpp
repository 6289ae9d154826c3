// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "norite/error.hpp"

namespace norite::core {

/// A library that was found while the program runs. It stays loaded: what it started, its threads
/// and its exit handlers, does not survive being unloaded.
class Library {
 public:
  /// The first of these that can be loaded. Errors: unavailable; `what` and `where` then say which
  /// thing was looked for in which places.
  [[nodiscard]] static Result<Library> open(std::string_view what, std::string_view where,
                                            const std::vector<std::string>& paths);

  /// Errors: unavailable, naming the library and the symbol.
  template <class Function>
  [[nodiscard]] Result<void> find(const char* symbol, Function*& function) const {
    NORITE_TRY_ASSIGN(void* const address, find(symbol));
    function = reinterpret_cast<Function*>(address);
    return {};
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  Library(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  [[nodiscard]] Result<void*> find(const char* symbol) const;

  void* handle_;
  std::string path_;
};

}  // namespace norite::core
