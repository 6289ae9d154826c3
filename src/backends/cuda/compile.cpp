// SPDX-License-Identifier: MIT
#include "backends/cuda/compile.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "backends/cuda/driver.hpp"
#include "msl/lower_nvrtc.hpp"

namespace norite::cuda {

namespace {

Result<void> write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return {};
  return fail(Code::unavailable, fmt::format("cannot write {}", path));
}

Result<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (file && !bytes.empty()) return bytes;
  return fail(Code::unavailable, fmt::format("cannot read {}", path.string()));
}

}  // namespace

Result<std::string> Compiler::compile(std::string_view kernel,
                                      const std::string& lowered_text) const {
  std::vector<std::string> options = nvrtc->architecture_options(capability);
  for (const std::string_view option : msl::nvrtc_options()) options.emplace_back(option);
  const std::string key = core::object_key(lowered_text, options,
                                           fmt::format("NVRTC {}", version_text(nvrtc->version)));
  auto path = cache.get(key, ".cubin", [&](const std::string& target) -> Result<void> {
    NORITE_TRY_ASSIGN(const std::string image, nvrtc->compile(lowered_text, options));
    return write_file(target, image);
  });
  if (path) return read_file(*path);
  Error& error = path.error();
  return fail(error.code, fmt::format("kernel \"{}\": {}", kernel, error.message),
              std::move(error.log));
}

}  // namespace norite::cuda
