// SPDX-License-Identifier: MIT
#include "core/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace norite::core {

Result<Library> Library::open(std::string_view what, std::string_view where,
                              const std::vector<std::string>& paths) {
  std::string reason;
  for (const std::string& path : paths) {
    if (void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return Library(handle, path);
    }
    // A file that is there and cannot be loaded tells more than those that are not there.
    const std::string_view said = ::dlerror();
    if (reason.empty() && said.find("No such file") == std::string_view::npos) reason = said;
  }
  return fail(Code::unavailable, fmt::format("{} was not found: looked for {}{}{}", what, where,
                                             reason.empty() ? "" : "; ", reason));
}

Result<void*> Library::find(const char* symbol) const {
  if (void* const address = ::dlsym(handle_, symbol)) return address;
  return fail(Code::unavailable, fmt::format("{} has no function {}: it is too old or no such "
                                             "library",
                                             path_, symbol));
}

}  // namespace norite::core
