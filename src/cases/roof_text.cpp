// SPDX-License-Identifier: MIT
#include "cases/roof_text.hpp"

#include <string>

namespace norite::cases {
namespace {

constexpr int64_t kThreads = 256;
constexpr int64_t kPackBytes = 16;

// Neighbouring threads take neighbouring packs. The probe's bytes are all 1, so that no sum is 7:
// the store stays out of the way and keeps the reads from being removed.
constexpr const char* kText = R"(
#include <metal_stdlib>
using namespace metal;

kernel void roof_copy(device const uint4* source [[buffer(0)]], device uint4* target [[buffer(1)]],
                      uint group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]]) {
  const ulong first = ulong(group) * (THREADS * PACKS) + thread_index;
  uint4 packs[PACKS];
  for (uint i = 0; i < PACKS; ++i) packs[i] = source[first + i * THREADS];
  for (uint i = 0; i < PACKS; ++i) target[first + i * THREADS] = packs[i];
}

kernel void roof_read(device const uint4* source [[buffer(0)]], device uint4* sums [[buffer(1)]],
                      uint group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_index_in_threadgroup]]) {
  const ulong first = ulong(group) * (THREADS * PACKS) + thread_index;
  uint4 sum = uint4(0);
  for (uint i = 0; i < PACKS; ++i) sum += source[first + i * THREADS];
  if (sum.x + sum.y + sum.z + sum.w == 7) sums[0] = sum;
}
)";

Result<RoofKernel> from_text(const Device& device, const std::string& name, int64_t bytes,
                             int64_t packs) {
  // Another probe on the same device may have registered it already.
  if (auto added = device.registry().register_source(name, kText);
      !added && added.error().code != Code::already_exists) {
    return tl::unexpected(std::move(added).error());
  }
  RoofKernel kernel;
  NORITE_TRY_ASSIGN(kernel.pipeline, device.registry().get_pipeline(
                                         {.name = name,
                                          .specialisation = {{"THREADS", std::to_string(kThreads)},
                                                             {"PACKS", std::to_string(packs)}}}));
  kernel.grid = {.groups = {bytes / (kPackBytes * kThreads * packs), 1, 1},
                 .threads = {kThreads, 1, 1}};
  return kernel;
}

}  // namespace

Result<RoofKernel> copy_from_text(const Device& device, int64_t bytes, int64_t packs) {
  return from_text(device, "roof_copy", bytes, packs);
}

Result<RoofKernel> read_from_text(const Device& device, int64_t bytes, int64_t packs) {
  return from_text(device, "roof_read", bytes, packs);
}

}  // namespace norite::cases
