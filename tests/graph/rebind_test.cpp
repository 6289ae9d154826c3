// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "host_values.hpp"
#include "norite/dlpack.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::expect_refused;
using test::must;

/// y = 2 x, z = y + x over four elements.
class Rebind : public ::testing::Test {
 protected:
  Buffer make(const std::vector<float>& values) const {
    return test::upload(device, DType::f32, {static_cast<int64_t>(values.size())}, values);
  }

  Device device = test::cpu_device();
  Buffer x = make({1, 2, 3, 4}), y = make({0, 0, 0, 0}), z = make({0, 0, 0, 0});
  Graph graph = must(Graph::capture(device, [this](Encoder& e) -> Result<void> {
    NORITE_TRY(ops::scale(e, {.x = x, .y = y, .factor = 2}));
    return ops::add(e, {.a = y, .b = x, .y = z});
  }));
};

TEST_F(Rebind, ReplacesInputs) {
  must(graph.rebind(x, make({10, 20, 30, 40})));
  must(graph.replay());
  EXPECT_EQ(test::download(z), (std::vector<float>{30, 60, 90, 120}));
  EXPECT_EQ(test::download(x), (std::vector<float>{1, 2, 3, 4}));
}

TEST_F(Rebind, ReplacesOutputs) {
  const Buffer other = make({0, 0, 0, 0});
  must(graph.rebind(z, other));
  must(graph.replay());
  EXPECT_EQ(test::download(other), (std::vector<float>{3, 6, 9, 12}));
  EXPECT_EQ(test::download(z), std::vector<float>(4, 0.0f));
}

TEST_F(Rebind, WorksOnOptimisedGraphs) {
  must(graph.optimise());
  must(graph.rebind(x, make({10, 20, 30, 40})));
  must(graph.replay());
  EXPECT_EQ(test::download(z), (std::vector<float>{30, 60, 90, 120}));
}

TEST_F(Rebind, GoesBack) {
  const Buffer other = make({10, 20, 30, 40});
  must(graph.rebind(x, other));
  must(graph.rebind(other, x));
  must(graph.replay());
  EXPECT_EQ(test::download(z), (std::vector<float>{3, 6, 9, 12}));
  expect_error(graph.rebind(other, x), Code::not_found, {"does not use"});
}

TEST_F(Rebind, TakesPartsAlong) {
  const Buffer whole = make({1, 2, 3, 4, 5, 6, 7, 8});
  const Buffer out = make({0, 0, 0, 0});
  Graph halves = must(Graph::capture(device, [&](Encoder& e) -> Result<void> {
    NORITE_TRY_ASSIGN(const View low, View(whole).slice(0, 0, 4));
    NORITE_TRY_ASSIGN(const View high, View(whole).slice(0, 4, 8));
    return ops::add(e, {.a = low, .b = high, .y = out});
  }));
  must(halves.rebind(whole, make({10, 20, 30, 40, 1, 1, 1, 1})));
  must(halves.replay());
  EXPECT_EQ(test::download(out), (std::vector<float>{11, 21, 31, 41}));
}

TEST_F(Rebind, LetsReadersShare) {
  const Buffer a = make({1, 2, 3, 4}), b = make({5, 6, 7, 8}), out = make({0, 0, 0, 0});
  Graph sum = must(
      Graph::capture(device, [&](Encoder& e) { return ops::add(e, {.a = a, .b = b, .y = out}); }));
  must(sum.rebind(b, a));
  must(sum.replay());
  EXPECT_EQ(test::download(out), (std::vector<float>{2, 4, 6, 8}));
}

TEST_F(Rebind, RefusesWhatDiffers) {
  const auto refused = [&](const View& other, std::initializer_list<std::string_view> words) {
    expect_refused(graph.rebind(x, other), words);
  };
  refused(make({1, 2, 3}), {"shape [3]", "expected [4]"});
  refused(must(device.empty(DType::bf16, {4})), {"dtype bf16", "expected f32"});
  const Buffer wide = make({1, 2, 3, 4, 5, 6, 7, 8});
  refused(must(View::make(wide, DType::f32, {4}, {2}, 0)), {"strides [2]", "expected [1]"});
  refused(must(View(wide).slice(0, 1, 5)), {"4 bytes past", "expected 0"});
  refused(must(test::cpu_device().empty(DType::f32, {4})), {"another device"});
  refused({}, {"replacement is not given"});
  expect_refused(graph.rebind({}, x), {"view is not given"});
}

TEST_F(Rebind, RefusesMemoryThatTheGraphUses) {
  expect_refused(graph.rebind(x, z), {"uses the replacement's memory"});
  expect_refused(graph.rebind(y, x), {"uses the replacement's memory"});
  must(graph.replay());
  EXPECT_EQ(test::download(z), (std::vector<float>{3, 6, 9, 12}));  // as if nothing was asked
}

// Kernels were planned for outputs that are not their inputs.
TEST_F(Rebind, RefusesMemoryThatTheGraphUsesInAnotherBuffer) {
  const View again = must(from_dlpack(device, must(to_dlpack(x))));
  expect_refused(graph.rebind(y, again), {"uses the replacement's memory already"});
}

TEST_F(Rebind, RefusesPartsOfWhatIsUsed) {
  const Buffer two = make({1, 2});
  expect_refused(graph.rebind(must(View(x).slice(0, 0, 2)), two), {"scale", "in part"});
}

TEST_F(Rebind, OfWhatTheGraphDoesNotUseIsNotFound) {
  expect_error(graph.rebind(make({1, 2, 3, 4}), make({1, 2, 3, 4})), Code::not_found,
               {"does not use"});
}

}  // namespace
}  // namespace norite
