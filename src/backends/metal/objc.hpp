// SPDX-License-Identifier: MIT
// The bridge to Objective-C: its runtime and Metal are found while the program runs, so that this
// compiles on every system and needs no header of Apple's. Nothing else casts objc_msgSend.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "norite/error.hpp"

namespace norite::metal {

struct ObjcObject;
struct ObjcSelector;
using Id = ObjcObject*;  // classes too
using Sel = ObjcSelector*;
using NSInteger = long;
using NSUInteger = unsigned long;

/// The functions of libobjc and Metal that are not messages, by their own names.
struct Runtime {
  void (*objc_msgSend)() = nullptr;
  Sel (*sel_registerName)(const char* name) = nullptr;
  Id (*objc_getClass)(const char* name) = nullptr;
  Id (*objc_retain)(Id object) = nullptr;
  void (*objc_release)(Id object) = nullptr;
  void* (*objc_autoreleasePoolPush)() = nullptr;
  void (*objc_autoreleasePoolPop)(void* pool) = nullptr;
  Id (*MTLCopyAllDevices)() = nullptr;
  /// The key of an error's details; a variable of Metal's.
  Id* MTLCommandBufferEncoderInfoErrorKey = nullptr;
};

/// macOS's own, or the library that NORITE_METAL_RUNTIME names. Errors: unavailable, with what was
/// looked for.
[[nodiscard]] Result<Runtime> load_runtime();

/// load_runtime(), once in a process: what it found, or did not find, stays so.
[[nodiscard]] const Result<Runtime>& runtime();

/// One message with its signature: what a call of an Objective-C method is.
template <class Signature>
class Message;

template <class R, class... Arguments>
class Message<R(Arguments...)> {
 public:
  constexpr explicit Message(const char* name) noexcept : name_(name) {}

  /// Only where runtime() has one.
  R operator()(Id receiver, Arguments... arguments) const {
    auto* const send = reinterpret_cast<R (*)(Id, Sel, Arguments...)>(runtime()->objc_msgSend);
    return send(receiver, selector(), arguments...);
  }
  [[nodiscard]] Sel selector() const {
    Sel known = selector_.load(std::memory_order_relaxed);
    if (known == nullptr) {
      known = runtime()->sel_registerName(name_);
      selector_.store(known, std::memory_order_relaxed);
    }
    return known;
  }
  [[nodiscard]] const char* name() const noexcept { return name_; }

 private:
  const char* name_;
  mutable std::atomic<Sel> selector_ = nullptr;
};

/// A hold on an object. Copies hold it too.
class Object {
 public:
  Object() = default;
  /// Takes over the hold that messages whose names begin with new, alloc, init and copy give.
  [[nodiscard]] static Object adopt(Id id) noexcept { return Object(id); }
  /// Holds what someone else holds as well.
  [[nodiscard]] static Object retain(Id id) {
    return Object(id == nullptr ? nullptr : runtime()->objc_retain(id));
  }
  ~Object() {
    if (id_ != nullptr) runtime()->objc_release(id_);
  }
  Object(const Object& other) : Object(retain(other.id_)) {}
  Object(Object&& other) noexcept : id_(std::exchange(other.id_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }

  operator Id() const noexcept { return id_; }  // NOLINT: the receiver of messages

 private:
  explicit Object(Id id) noexcept : id_(id) {}
  Id id_ = nullptr;
};

/// What messages hand out without a hold lives until the end of this scope. Every way into the
/// backend has one: callers' threads need not.
class AutoreleasePool {
 public:
  AutoreleasePool() : pool_(runtime()->objc_autoreleasePoolPush()) {}
  ~AutoreleasePool() { runtime()->objc_autoreleasePoolPop(pool_); }
  AutoreleasePool(const AutoreleasePool&) = delete;
  AutoreleasePool& operator=(const AutoreleasePool&) = delete;

 private:
  void* pool_;
};

/// The class of that name; null where the system is too old to have it.
[[nodiscard]] Id class_named(const char* name);
/// A new object of the class.
[[nodiscard]] Object make(const char* class_name);

}  // namespace norite::metal
