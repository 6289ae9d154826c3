// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

namespace norite::cpu {

/// Marks that the calling thread is inside of something, whose end it must not wait for. Marks
/// nest: a kernel may run work of another device, which may ask for the first one.
template <class T>
class Inside {
 public:
  explicit Inside(const T& what) noexcept : what_(&what), outer_(std::exchange(innermost_, this)) {}
  ~Inside() { innermost_ = outer_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  [[nodiscard]] static bool of(const T& what) noexcept {
    const Inside* mark = innermost_;
    while (mark != nullptr && mark->what_ != &what) mark = mark->outer_;
    return mark != nullptr;
  }

 private:
  const T* what_;
  const Inside* outer_;
  static inline thread_local const Inside* innermost_ = nullptr;
};

}  // namespace norite::cpu
