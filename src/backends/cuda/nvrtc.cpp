// SPDX-License-Identifier: MIT
#include "backends/cuda/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backends/cuda/driver.hpp"
#include "backends/cuda/nvrtc_paths.hpp"
#include "core/library.hpp"

namespace norite::cuda {

namespace {

constexpr int kOldestVersion = 12030;  // the first with __builtin_bit_cast

/// Destroys a program at the end of its scope.
class Program {
 public:
  explicit Program(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  ~Program() {
    if (program_ != nullptr) nvrtc_.nvrtcDestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  Result<void> create(const std::string& text) {
    return check(
        nvrtc_.nvrtcCreateProgram(&program_, text.c_str(), "kernel.cu", 0, nullptr, nullptr));
  }

  Result<void> compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    const nvrtcResult error =
        nvrtc_.nvrtcCompileProgram(program_, static_cast<int>(texts.size()), texts.data());
    if (error == NVRTC_SUCCESS) return {};
    NORITE_TRY_ASSIGN(std::string log,
                      text(nvrtc_.nvrtcGetProgramLogSize, nvrtc_.nvrtcGetProgramLog));
    while (log.ends_with('\0')) log.pop_back();
    if (error == NVRTC_ERROR_COMPILATION) {
      return fail(Code::compile_failed, "NVRTC refused the kernel", std::move(log));
    }
    const Code code =
        error == NVRTC_ERROR_OUT_OF_MEMORY ? Code::out_of_memory : Code::compile_failed;
    return fail(code, fmt::format("NVRTC failed with error {}", error), std::move(log));
  }

  /// Machine code, or what the driver compiles further where there is none.
  [[nodiscard]] Result<std::string> image() const {
    size_t bytes = 0;
    NORITE_TRY(check(nvrtc_.nvrtcGetCUBINSize(program_, &bytes)));
    return bytes > 0 ? text(nvrtc_.nvrtcGetCUBINSize, nvrtc_.nvrtcGetCUBIN)
                     : text(nvrtc_.nvrtcGetPTXSize, nvrtc_.nvrtcGetPTX);
  }

 private:
  static Result<void> check(nvrtcResult error) {
    if (error == NVRTC_SUCCESS) return {};
    return fail(Code::internal, fmt::format("NVRTC failed with error {}", error));
  }

  Result<std::string> text(nvrtcResult (*size)(nvrtcProgram, size_t*),
                           nvrtcResult (*get)(nvrtcProgram, char*)) const {
    size_t bytes = 0;
    NORITE_TRY(check(size(program_, &bytes)));
    std::string result(bytes, '\0');
    NORITE_TRY(check(get(program_, result.data())));
    return result;
  }

  const Nvrtc& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

Result<void> read_version(Nvrtc& nvrtc) {
  int major = 0, minor = 0, count = 0;
  nvrtcResult error = nvrtc.nvrtcVersion(&major, &minor);
  nvrtc.version = 1000 * major + 10 * minor;
  if (error == NVRTC_SUCCESS) error = nvrtc.nvrtcGetNumSupportedArchs(&count);
  nvrtc.architectures.resize(static_cast<size_t>(count));
  if (error == NVRTC_SUCCESS) error = nvrtc.nvrtcGetSupportedArchs(nvrtc.architectures.data());
  if (error == NVRTC_SUCCESS) return {};
  return fail(Code::unavailable,
              fmt::format("{} does not tell its version: error {}", nvrtc.path, error));
}

Result<void> check_version(const Nvrtc& nvrtc, int driver_version) {
  if (nvrtc.version < kOldestVersion) {
    return fail(Code::unavailable,
                fmt::format("NVRTC ({}) is of CUDA {}, expected {} or later", nvrtc.path,
                            version_text(nvrtc.version), version_text(kOldestVersion)));
  }
  // A driver takes code from every compiler of its own major version, and from older ones.
  if (nvrtc.version / 1000 > driver_version / 1000) {
    return fail(Code::unavailable,
                fmt::format("NVRTC ({}) is of CUDA {}, and the driver is for CUDA {} only",
                            nvrtc.path, version_text(nvrtc.version), version_text(driver_version)));
  }
  return {};
}

Result<std::shared_ptr<const Nvrtc>> load_one(const core::Library& library, int driver_version) {
  auto nvrtc = std::make_shared<Nvrtc>();
  nvrtc->path = library.path();
#define NORITE_CUDA_FIND(name, parameters) NORITE_TRY(library.find(#name, nvrtc->name));
  NORITE_CUDA_NVRTC_FUNCTIONS(NORITE_CUDA_FIND)
#undef NORITE_CUDA_FIND
  NORITE_TRY(read_version(*nvrtc));
  NORITE_TRY(check_version(*nvrtc, driver_version));
  return nvrtc;
}

}  // namespace

Result<std::string> Nvrtc::compile(const std::string& text,
                                   const std::vector<std::string>& options) const {
  Program program(*this);
  NORITE_TRY(program.create(text));
  NORITE_TRY(program.compile(options));
  return program.image();
}

std::vector<std::string> Nvrtc::architecture_options(int capability) const {
  const auto newer = std::find_if(architectures.begin(), architectures.end(),
                                  [&](int known) { return known > capability; });
  const int best = newer == architectures.begin() ? capability : *(newer - 1);
  return {fmt::format("--gpu-architecture={}_{}", best == capability ? "sm" : "compute", best)};
}

Result<std::shared_ptr<const Nvrtc>> load_nvrtc(int driver_version) {
  constexpr std::string_view kWhat = "NVRTC, which compiles kernels for NVIDIA GPUs,";
  const NvrtcPlaces places = nvrtc_places(driver_version);
  std::optional<Error> unfit;  // of the best one that is there
  for (const std::string& path : places.paths) {
    const auto library = core::Library::open(kWhat, places.description, {path});
    if (!library) continue;
    auto nvrtc = load_one(*library, driver_version);
    if (nvrtc) return nvrtc;
    if (!unfit) unfit = std::move(nvrtc).error();
  }
  if (unfit) return tl::unexpected<Error>(*std::move(unfit));
  return tl::unexpected<Error>(
      core::Library::open(kWhat, places.description, places.paths).error());
}

const Result<std::shared_ptr<const Nvrtc>>& nvrtc(int driver_version) {
  static const Result<std::shared_ptr<const Nvrtc>> loaded = load_nvrtc(driver_version);
  return loaded;
}

}  // namespace norite::cuda
