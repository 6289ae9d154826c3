// SPDX-License-Identifier: MIT
// A small Objective-C runtime: classes, methods, holds on objects, pools that let go of them.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "backends/metal/messages.hpp"
#include "metal/stand_in/type_encoding.hpp"

namespace norite::stand_in {

using metal::Id;
using metal::MTLSize;
using metal::NSInteger;
using metal::NSUInteger;
using metal::Sel;

struct Method {
  void (*function)() = nullptr;
  std::string encoding;
};

class Instance;

/// A class: its methods by selector. Methods are plain functions (self, selector, arguments…).
class ClassInfo {
 public:
  using Make = Instance* (*)();
  explicit ClassInfo(std::string called, const ClassInfo* base = nullptr, Make maker = nullptr)
      : name_(std::move(called)), base_(base), make_(maker) {}

  template <class R, class Self, class... Arguments>
  ClassInfo& with(const std::string& selector, R (*function)(Self*, Sel, Arguments...)) {
    methods_[selector] = {reinterpret_cast<void (*)()>(function),
                          test::encoded_signature<R, Arguments...>()};
    return *this;
  }
  [[nodiscard]] const Method* find(const std::string& selector) const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Instance* make() const { return make_(); }

 private:
  std::string name_;
  const ClassInfo* base_;
  Make make_;
  std::map<std::string, Method> methods_;
};

/// What every object, and what every class as an object, can do.
extern const ClassInfo kObject, kClass;

/// An object. It begins with one hold; without any it is dead, and stays as a shell that answers
/// no message.
class Instance {
 public:
  explicit Instance(const ClassInfo& info);
  virtual ~Instance() = default;
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  [[nodiscard]] const ClassInfo& info() const { return *info_; }
  [[nodiscard]] bool dead() const { return holds_ <= 0; }
  void retain();
  void release();

  std::string label;

 protected:
  /// Gives back what a live object has.
  virtual void die() {}

 private:
  const ClassInfo* info_;
  long holds_ = 1;  // under the runtime's mutex
};

/// An object that is no one's but the pool's of this thread.
Id autoreleased(Instance* instance);
inline Id id_of(Instance* instance) { return reinterpret_cast<Id>(instance); }
template <class T = Instance>
T* from_id(Id id) {
  return static_cast<T*>(reinterpret_cast<Instance*>(id));
}

/// A hold on an object, as C++ has it.
template <class T>
class Hold {
 public:
  Hold() = default;
  explicit Hold(T* instance) : instance_(instance) {
    if (instance_ != nullptr) instance_->retain();
  }
  Hold(const Hold& other) : Hold(other.instance_) {}
  Hold(Hold&& other) noexcept : instance_(std::exchange(other.instance_, nullptr)) {}
  Hold& operator=(Hold other) noexcept {
    std::swap(instance_, other.instance_);
    return *this;
  }
  ~Hold() {
    if (instance_ != nullptr) instance_->release();
  }
  T* operator->() const { return instance_; }
  [[nodiscard]] T* get() const { return instance_; }
  explicit operator bool() const { return instance_ != nullptr; }

 private:
  T* instance_ = nullptr;
};

/// A rule was broken: ends the process, as Apple's validation does, unless a test collects them.
void breach(const std::string& what);

/// How many objects of Metal's are alive, by class, for messages.
std::string survivors();

/// One lock for the books of the stand-in.
std::recursive_mutex& books();

/// Makes a class known to objc_getClass from a version of macOS on; `methods` are those of the
/// class itself.
struct PublicClass {
  explicit PublicClass(const ClassInfo& info, int since_system = 14,
                       const ClassInfo& methods = kClass);
};

}  // namespace norite::stand_in
