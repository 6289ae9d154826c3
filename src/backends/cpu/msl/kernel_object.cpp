// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/kernel_object.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#ifdef __APPLE__
#include <mach-o/getsect.h>
#else
#include <link.h>
#endif

#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

namespace norite::cpu::msl {

namespace {

// Objects that are open now, by the loader's handle: the loader too hands out one for each file.
struct OpenObjects {
  std::mutex mutex;
  std::map<void*, std::weak_ptr<KernelObject>> by_handle;
};

OpenObjects& open_objects() {
  // Never destroyed: a device that the program keeps until its end closes its kernels after that.
  static OpenObjects& objects = *new OpenObjects;
  return objects;
}

// Bytes from the object's base to the end of what is mapped of it.
uintptr_t mapped_bytes(uintptr_t base) {
#ifdef __APPLE__
  const auto* header = reinterpret_cast<const mach_header_64*>(base);
  uintptr_t end = base;
  for (const char* segment : {"__TEXT", "__DATA_CONST", "__DATA"}) {
    unsigned long bytes = 0;
    const auto* data = getsegmentdata(header, segment, &bytes);
    if (data != nullptr) end = std::max(end, reinterpret_cast<uintptr_t>(data) + bytes);
  }
  return end - base;
#else
  struct Search {
    uintptr_t base, bytes;
  } search = {base, 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        auto& wanted = *static_cast<Search*>(context);
        if (info->dlpi_addr != wanted.base) return 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD) continue;
          wanted.bytes = std::max<uintptr_t>(wanted.bytes, segment.p_vaddr + segment.p_memsz);
        }
        return 1;
      },
      &search);
  return search.bytes;
#endif
}

}  // namespace

Result<std::shared_ptr<KernelObject>> KernelObject::open(const std::filesystem::path& path,
                                                         const norite_msl::Runtime& runtime,
                                                         bool checked) {
  const auto refused = [&](std::string_view why) {
    return fail(Code::internal, fmt::format("{} cannot be loaded: {}", path.string(), why));
  };
  auto& known = open_objects();
  std::unique_lock lock(known.mutex);
  void* handle = nullptr;
  for (;;) {
    handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return refused(::dlerror());
    const auto it = known.by_handle.find(handle);
    if (it == known.by_handle.end()) break;
    auto object = it->second.lock();
    ::dlclose(handle);  // the object has a hold of its own
    if (object) return object;
    // Its destructor waits for the lock. Until that has run, variables keep the places they had.
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }

  const auto* entry = static_cast<const norite_msl::Entry*>(::dlsym(handle, "norite_msl_entry"));
  Dl_info info;
  if (entry == nullptr || ::dladdr(entry, &info) == 0) {
    ::dlclose(handle);
    return refused("it has no norite_msl_entry");
  }
  std::shared_ptr<KernelObject> object(new KernelObject);
  object->path_ = path;
  object->handle_ = handle;
  object->entry_ = entry;
  object->base_ = reinterpret_cast<uintptr_t>(info.dli_fbase);
  object->bytes_ = mapped_bytes(object->base_);
  object->checked_ = checked;
  entry->attach(&runtime);
  known.by_handle[handle] = object;
  return object;
}

KernelObject::~KernelObject() {
  auto& known = open_objects();
  const std::scoped_lock lock(known.mutex);
  known.by_handle.erase(handle_);
  ::dlclose(handle_);
}

}  // namespace norite::cpu::msl
