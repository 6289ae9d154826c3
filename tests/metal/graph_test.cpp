// SPDX-License-Identifier: MIT
// Graphs on Metal: the recorded list is encoded again at every replay.
#include "norite/norite.hpp"

#include "host_values.hpp"
#include "metal/metal_support.hpp"

namespace norite {
namespace {

using test::must;

class MetalGraphTest : public test::AnyMetalTest {};

TEST_F(MetalGraphTest, replays_give_the_bits_of_eager_execution) {
  const Device device = must(Device::open("metal"));
  const View x = test::upload(device, DType::f32, {4, 64}, test::pattern(256, 1));
  const View gate = test::upload(device, DType::f32, {4, 64}, test::pattern(256, 2));
  const View y = must(device.empty(DType::f32, {4, 64}));
  const auto record = [&](Encoder& e) -> Result<void> {
    NORITE_TRY_ASSIGN(const Buffer t, device.empty(DType::f32, {4, 64}));
    NORITE_TRY_ASSIGN(const Buffer u, device.empty(DType::f32, {4, 64}));
    NORITE_TRY(ops::rms_norm(e, {.x = x, .y = t}));
    NORITE_TRY(ops::silu_mul(e, {.a = gate, .b = t, .y = u}));
    return ops::add(e, {.a = u, .b = gate, .y = y});
  };
  test::run(device, record);
  const auto expected = test::download_bytes(y);
  Graph graph = must(Graph::capture(device, record));
  for (const bool optimise : {false, true}) {
    if (optimise) {
      EXPECT_EQ(must(graph.optimise()).operations_after, 2);
    }
    for (int run = 0; run < 2; ++run) {
      test::run(device, [&](Encoder& e) { return ops::scale(e, {.x = x, .y = y}); });
      must(graph.replay());
      EXPECT_EQ(test::download_bytes(y), expected);
    }
  }
}

}  // namespace
}  // namespace norite
