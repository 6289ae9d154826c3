// SPDX-License-Identifier: MIT
#include "ops/repeats.hpp"

#include "host_values.hpp"

namespace norite::test {
namespace {

// Zeros are what outputs hold at first, so that the next run has to write them again.
constexpr const char* kCompare = R"(
#include <metal_stdlib>
using namespace metal;

kernel void compare_and_clear(device const uint* expected [[buffer(0)]],
                              device uint* got [[buffer(1)]],
                              device atomic_uint* differences [[buffer(2)]],
                              uint i [[thread_position_in_grid]]) {
  if (got[i] != expected[i]) atomic_fetch_add_explicit(differences, 1, memory_order_relaxed);
  got[i] = 0;
})";

Pipeline compare_kernel(const Device& device) {
  const KernelId id = {.name = "compare_and_clear"};
  const auto registered = device.registry().register_source(id.name, kCompare);
  if (!registered && registered.error().code != Code::already_exists) must(registered);
  return must(device.registry().get_pipeline(id));
}

}  // namespace

Repeats::Repeats(const Device& device, const RowOperation& operation, const RowOperands& inputs)
    : device_(device),
      operation_(operation),
      operands_(inputs.with_own_outputs(device)),
      first_(inputs.with_own_outputs(device)),
      compare_(compare_kernel(device)),
      differences_(must(device.empty(DType::u32, {1}))) {
  test::run(device_, [&](Encoder& e) { return operation_.encode(e, first_, 0); });
}

uint32_t Repeats::run(int repeats) {
  constexpr int kAtOnce = 10;  // so that the device has something to do while the host records
  for (int done = 0; done < repeats; done += kAtOnce) {
    Encoder encoder = device_.encoder();
    for (int i = 0; i < kAtOnce; ++i) must(encode_once(encoder));
    must(encoder.submit_and_wait());
  }
  return contents<uint32_t>(differences_).front();
}

Result<void> Repeats::encode_once(Encoder& encoder) const {
  NORITE_TRY(operation_.encode(encoder, operands_, 0));
  const std::vector<View> expected = first_.outputs(), got = operands_.outputs();
  for (size_t i = 0; i < got.size(); ++i) {
    const int64_t words = got[i].size_bytes() / 4;  // rows are even: none is cut
    const Argument arguments[] = {expected[i], got[i], differences_};
    NORITE_TRY(encoder.dispatch(compare_, arguments, Grid::of_threads({words, 1, 1}, {256, 1, 1})));
  }
  return {};
}

}  // namespace norite::test
