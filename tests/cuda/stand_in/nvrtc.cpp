// SPDX-License-Identifier: MIT
// Exports the functions of libnvrtc that the CUDA backend takes. It compiles nothing; text with the
// word `refuse_this` is refused.
#include <cstring>
#include <mutex>
#include <string_view>

#include "backends/cuda/cuda_api.hpp"
#include "cuda/stand_in/settings.hpp"

using namespace norite::cuda;  // NOLINT: the names of the API are the point

struct norite::cuda::_nvrtcProgram {
  std::string text;
};

namespace {

constexpr std::string_view kImage = "no machine code";
constexpr std::string_view kLog = "user.metal(3): error: this is refused\n";

nvrtcResult give(std::string_view text, char* target) {
  std::memcpy(target, text.data(), text.size());
  return NVRTC_SUCCESS;
}

}  // namespace

#define STAND_IN(name, ...)                                                        \
  extern "C" __attribute__((visibility("default"))) nvrtcResult name(__VA_ARGS__); \
  nvrtcResult name(__VA_ARGS__)

STAND_IN(nvrtcVersion, int* major, int* minor) {
  *major = stand_in_cuda()->nvrtc_major;
  *minor = stand_in_cuda()->nvrtc_minor;
  return NVRTC_SUCCESS;
}
STAND_IN(nvrtcGetNumSupportedArchs, int* count) {
  *count = 3;
  return NVRTC_SUCCESS;
}
STAND_IN(nvrtcGetSupportedArchs, int* architectures) {
  architectures[0] = 75;
  architectures[1] = 80;
  architectures[2] = 90;
  return NVRTC_SUCCESS;
}
STAND_IN(nvrtcCreateProgram, nvrtcProgram* program, const char* text, const char*, int,
         const char* const*, const char* const*) {
  *program = new _nvrtcProgram{text};
  return NVRTC_SUCCESS;
}
STAND_IN(nvrtcDestroyProgram, nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  return NVRTC_SUCCESS;
}
STAND_IN(nvrtcCompileProgram, nvrtcProgram program, int count, const char* const* options) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  stand_in_cuda()->compiled.push_back(program->text);
  stand_in_cuda()->options.emplace_back(options, options + count);
  const bool refused = program->text.find("refuse_this") != std::string::npos;
  return refused ? NVRTC_ERROR_COMPILATION : NVRTC_SUCCESS;
}
STAND_IN(nvrtcGetProgramLogSize, nvrtcProgram, size_t* bytes) {
  *bytes = kLog.size();
  return NVRTC_SUCCESS;
}
STAND_IN(nvrtcGetProgramLog, nvrtcProgram, char* log) { return give(kLog, log); }
STAND_IN(nvrtcGetCUBINSize, nvrtcProgram, size_t* bytes) {
  *bytes = kImage.size();
  return NVRTC_SUCCESS;
}
STAND_IN(nvrtcGetCUBIN, nvrtcProgram, char* image) { return give(kImage, image); }
STAND_IN(nvrtcGetPTXSize, nvrtcProgram, size_t* bytes) {
  *bytes = kImage.size();
  return NVRTC_SUCCESS;
}
STAND_IN(nvrtcGetPTX, nvrtcProgram, char* image) { return give(kImage, image); }
