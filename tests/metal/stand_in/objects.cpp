// SPDX-License-Identifier: MIT
#include "metal/stand_in/objects.hpp"

#include <cstdio>
#include <cstdlib>

#include "metal/stand_in/exported.hpp"
#include "metal/stand_in/settings.hpp"

namespace norite::stand_in {

namespace {

bool responds_to(Instance* self, Sel, Sel selector) {
  return self->info().find(reinterpret_cast<const char*>(selector)) != nullptr;
}
Id init(Instance* self, Sel) { return id_of(self); }

/// A class as a receiver of messages.
struct ClassObject : Instance {
  ClassObject(const ClassInfo& instances, int since, const ClassInfo& methods)
      : Instance(methods), of(instances), since_system(since) {
    --stand_in_metal()->live_objects;  // classes are not counted
  }
  const ClassInfo& of;
  int since_system;
};

Id alloc(ClassObject* self, Sel) { return id_of(self->of.make()); }

// The books stay open until the process is gone: a queue's thread may be the last to write to them.
std::map<std::string, ClassObject*>& classes() {
  static auto& all = *new std::map<std::string, ClassObject*>;
  return all;
}

/// How many objects of each class are alive.
std::map<std::string, long>& census() {
  static auto& all = *new std::map<std::string, long>;
  return all;
}

/// Shells of the dead, so that whoever still speaks to them is found out.
std::vector<Instance*>& graveyard() {
  static auto& all = *new std::vector<Instance*>;
  return all;
}

/// Pools of a thread, the innermost last.
thread_local std::vector<std::vector<Instance*>> pools;

}  // namespace

const ClassInfo kObject =
    ClassInfo("NSObject").with("respondsToSelector:", responds_to).with("init", init);
const ClassInfo kClass = ClassInfo("Class", &kObject).with("alloc", alloc);

const Method* ClassInfo::find(const std::string& selector) const {
  const auto found = methods_.find(selector);
  if (found != methods_.end()) return &found->second;
  return base_ == nullptr ? nullptr : base_->find(selector);
}

Instance::Instance(const ClassInfo& info) : info_(&info) {
  const std::scoped_lock lock(books());
  ++stand_in_metal()->live_objects;
  ++census()[info.name()];
}

void Instance::retain() {
  const std::scoped_lock lock(books());
  if (dead()) return breach("a dead " + info_->name() + " is retained");
  ++holds_;
}

void Instance::release() {
  {
    const std::scoped_lock lock(books());
    if (dead()) return breach("a dead " + info_->name() + " is released");
    if (--holds_ > 0) return;
  }
  die();
  const std::scoped_lock lock(books());
  --stand_in_metal()->live_objects;
  --census()[info_->name()];
  graveyard().push_back(this);
}

Id autoreleased(Instance* instance) {
  if (pools.empty()) {
    breach("a " + instance->info().name() + " is autoreleased where there is no pool");
  } else {
    pools.back().push_back(instance);
  }
  return id_of(instance);
}

std::recursive_mutex& books() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}

void breach(const std::string& what) {
  const std::scoped_lock lock(books());
  auto& settings = *stand_in_metal();
  settings.breaches.push_back(what);
  if (settings.collects) return;
  std::fprintf(stderr, "stand-in for Metal: %s\n", what.c_str());
  std::abort();
}

std::string survivors() {
  std::string text;
  for (const auto& [name, count] : census()) {
    const bool counted = count > 0 && !name.starts_with("NS") && name.find("Class") == name.npos;
    if (counted) text += " " + std::to_string(count) + " " + name;
  }
  return text;
}

PublicClass::PublicClass(const ClassInfo& info, int since_system, const ClassInfo& methods) {
  classes()[info.name()] = new ClassObject(info, since_system, methods);
}

}  // namespace norite::stand_in

using namespace norite::stand_in;  // NOLINT: the exported names are the point

namespace {

/// What a message to nil, to a dead object or with an unknown selector is answered with.
intptr_t nothing() { return 0; }

}  // namespace

// Selectors are their own names.
STAND_IN(Sel, sel_registerName, const char* name) {
  static auto& names = *new std::set<std::string>;
  const std::scoped_lock lock(books());
  return reinterpret_cast<Sel>(const_cast<char*>(names.insert(name).first->c_str()));
}
STAND_IN(Id, objc_getClass, const char* name) {
  const std::scoped_lock lock(books());
  const auto found = classes().find(name);
  if (found == classes().end()) return nullptr;
  if (found->second->since_system > stand_in_metal()->system_major) return nullptr;
  return id_of(found->second);
}
STAND_IN(Id, objc_retain, Id object) {
  if (object != nullptr) from_id(object)->retain();
  return object;
}
STAND_IN(void, objc_release, Id object) {
  if (object != nullptr) from_id(object)->release();
}
STAND_IN(void*, objc_autoreleasePoolPush) {
  pools.emplace_back();
  return reinterpret_cast<void*>(pools.size());
}
STAND_IN(void, objc_autoreleasePoolPop, void* pool) {
  if (reinterpret_cast<size_t>(pool) != pools.size()) {
    return breach("pools are popped in another order than they were pushed");
  }
  const auto objects = std::move(pools.back());
  pools.pop_back();
  for (Instance* object : objects) object->release();
}
// Classes and methods as the runtime shows them.
STAND_IN(const void*, object_getClass, Id object) { return &from_id(object)->info(); }
STAND_IN(const void*, class_getInstanceMethod, const void* info, Sel selector) {
  return static_cast<const ClassInfo*>(info)->find(reinterpret_cast<const char*>(selector));
}
STAND_IN(const char*, method_getTypeEncoding, const void* method) {
  return static_cast<const Method*>(method)->encoding.c_str();
}

/// Called by objc_msgSend: the function that answers.
extern "C"
    __attribute__((used, visibility("hidden"))) void (*stand_in_metal_find(Instance* receiver,
                                                                           Sel selector))() {
  auto* const none = reinterpret_cast<void (*)()>(nothing);
  if (receiver == nullptr) return none;
  const std::scoped_lock lock(books());
  const std::string name = reinterpret_cast<const char*>(selector);
  if (receiver->dead()) {
    breach(name + " is sent to a dead " + receiver->info().name());
    return none;
  }
  const Method* method = receiver->info().find(name);
  if (method != nullptr) return method->function;
  breach("a " + receiver->info().name() + " does not understand " + name);
  return none;
}

// As the real one: finds the method and jumps to it with the arguments untouched, whatever they
// are.
#if defined(__x86_64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend, @function
objc_msgSend:
  pushq %rbp
  movq %rsp, %rbp
  subq $192, %rsp
  movq %rdi, 0(%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movq %rax, 48(%rsp)
  movups %xmm0, 64(%rsp)
  movups %xmm1, 80(%rsp)
  movups %xmm2, 96(%rsp)
  movups %xmm3, 112(%rsp)
  movups %xmm4, 128(%rsp)
  movups %xmm5, 144(%rsp)
  movups %xmm6, 160(%rsp)
  movups %xmm7, 176(%rsp)
  callq stand_in_metal_find
  movq %rax, %r11
  movq 0(%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movq 48(%rsp), %rax
  movups 64(%rsp), %xmm0
  movups 80(%rsp), %xmm1
  movups 96(%rsp), %xmm2
  movups 112(%rsp), %xmm3
  movups 128(%rsp), %xmm4
  movups 144(%rsp), %xmm5
  movups 160(%rsp), %xmm6
  movups 176(%rsp), %xmm7
  leave
  jmpq *%r11
.size objc_msgSend, .-objc_msgSend
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend, %function
objc_msgSend:
  stp x29, x30, [sp, #-224]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  str x8, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  bl stand_in_metal_find
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldr x8, [sp, #80]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x29, x30, [sp], #224
  br x16
.size objc_msgSend, .-objc_msgSend
)");
#else
#error "objc_msgSend is written for x86-64 and Arm"
#endif
