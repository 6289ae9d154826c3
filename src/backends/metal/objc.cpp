// SPDX-License-Identifier: MIT
#include "backends/metal/objc.hpp"

#include "backends/metal/messages.hpp"
#include "core/env.hpp"
#include "core/library.hpp"

namespace norite::metal {

namespace {

/// The libraries that the functions lie in; one library may stand for all.
struct Libraries {
  core::Library objc, metal;
};

Result<core::Library> open(const std::string& path) {
  return core::Library::open("Metal", path, {path});
}

Result<Libraries> open_libraries() {
  if (const auto path = core::env::metal_runtime()) {
    NORITE_TRY_ASSIGN(const core::Library library, open(*path));
    return Libraries{library, library};
  }
#ifdef __APPLE__
  NORITE_TRY(open("/System/Library/Frameworks/Foundation.framework/Foundation"));
  NORITE_TRY_ASSIGN(core::Library objc, open("/usr/lib/libobjc.A.dylib"));
  NORITE_TRY_ASSIGN(core::Library metal, open("/System/Library/Frameworks/Metal.framework/Metal"));
  return Libraries{std::move(objc), std::move(metal)};
#else
  return fail(Code::unavailable,
              "metal: this system has no Metal, which is a part of macOS; NORITE_METAL_RUNTIME "
              "names no library that stands in for it");
#endif
}

}  // namespace

Result<Runtime> load_runtime() {
  NORITE_TRY_ASSIGN(const Libraries libraries, open_libraries());
  Runtime found;
#define NORITE_METAL_FIND(library, name) NORITE_TRY(libraries.library.find(#name, found.name))
  NORITE_METAL_FIND(objc, objc_msgSend);
  NORITE_METAL_FIND(objc, sel_registerName);
  NORITE_METAL_FIND(objc, objc_getClass);
  NORITE_METAL_FIND(objc, objc_retain);
  NORITE_METAL_FIND(objc, objc_release);
  NORITE_METAL_FIND(objc, objc_autoreleasePoolPush);
  NORITE_METAL_FIND(objc, objc_autoreleasePoolPop);
  NORITE_METAL_FIND(metal, MTLCopyAllDevices);
  NORITE_METAL_FIND(metal, MTLCommandBufferEncoderInfoErrorKey);
#undef NORITE_METAL_FIND
  return found;
}

const Result<Runtime>& runtime() {
  static const Result<Runtime> loaded = load_runtime();
  return loaded;
}

Id class_named(const char* name) { return runtime()->objc_getClass(name); }

Object make(const char* class_name) {
  return Object::adopt(msg::init(msg::alloc(class_named(class_name))));
}

}  // namespace norite::metal
