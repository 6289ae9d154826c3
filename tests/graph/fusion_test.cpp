// SPDX-License-Identifier: MIT
// Every rule fires where it may, and does not where it must not.
#include <gtest/gtest.h>

#include "core/device_state.hpp"
#include "graph/graph_support.hpp"

namespace norite {
namespace {

using test::Buffers;
using test::must;
using test::optimised;

const Shape kRows = {4, 64};
const Shape kHeads = {4, 8, 64};

/// Names of the operations that are left.
std::vector<std::string> names(const Graph& graph) {
  std::vector<std::string> result;
  for (const auto& operation : graph.describe().operations) result.push_back(operation.name);
  return result;
}

using Names = std::vector<std::string>;

/// A few units of the last place.
float units_of(DType dtype) {
  return dtype == DType::f32 ? 0x1p-22f : dtype == DType::f16 ? 0x1p-9f : 0x1p-6f;
}

/// Both forms of the built-in kernels, every dtype.
class Fusion : public ::testing::TestWithParam<std::tuple<BuiltinForm, DType>> {
 protected:
  Fusion()
      : buffers(must(Device::open("cpu", {.threads = 2, .builtins = std::get<0>(GetParam())})),
                std::get<1>(GetParam())) {}

  [[nodiscard]] bool f32() const { return buffers.dtype == DType::f32; }

  /// The graph gives what separate operations give: bit for bit, or within a few units of the last
  /// place of the coarser dtype.
  void expect_same(const test::Recorder& record, const View& out, Graph& graph, bool bits) {
    const auto expected = [&] {
      test::run(buffers.device, [&](Encoder& e) { return record(e); });
      return test::download(out);
    }();
    must(graph.replay());
    const auto got = test::download(out);
    const float unit = std::max(units_of(buffers.dtype), units_of(out.dtype()));
    for (size_t i = 0; i < got.size(); ++i) {
      if (bits) {
        ASSERT_EQ(got[i], expected[i]) << i;
      } else {
        ASSERT_NEAR(got[i], expected[i], unit * std::max(1.0f, std::abs(expected[i]))) << i;
      }
    }
  }

  Buffers buffers;
};

TEST_P(Fusion, NormAndMulBecomeOne) {
  const View x = buffers.fill(kRows), weight = buffers.fill({64}), gate = buffers.fill(kRows);
  const View y = buffers.fill(kRows);
  const auto record = [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(kRows);
    NORITE_TRY(ops::rms_norm(e, {.x = x, .weight = weight, .y = t}));
    return ops::mul(e, {.a = gate, .b = t, .y = y});
  };
  auto [graph, report] = optimised(buffers.device, record);
  EXPECT_EQ(names(graph), Names{"rms_norm_mul"}) << to_string(report);
  ASSERT_EQ(report.fused.size(), 1u);
  EXPECT_EQ(report.fused[0].changes_bits, !f32());
  expect_same(record, y, graph, f32());
}

TEST_P(Fusion, AddAndNormBecomeOne) {
  for (const int64_t dim : {64, 4097}) {  // of whole packs, or rows that begin anywhere
    SCOPED_TRACE(dim);
    const Shape rows = {3, dim};
    const View x = buffers.fill(rows), residual = buffers.fill(rows), weight = buffers.fill({dim});
    const View sum = buffers.fill(rows), y = buffers.fill(rows);
    const auto record = [&](Encoder& e) -> Result<void> {
      NORITE_TRY(ops::add(e, {.a = x, .b = residual, .y = sum}));
      return ops::rms_norm(
          e, {.x = sum, .weight = weight, .y = y, .weight_mode = ops::WeightMode::one_plus});
    };
    auto [graph, report] = optimised(buffers.device, record);
    EXPECT_EQ(names(graph), Names{"residual_rms_norm"}) << to_string(report);
    ASSERT_EQ(report.fused.size(), 1u);
    EXPECT_FALSE(report.fused[0].changes_bits);
    expect_same(record, y, graph, true);
    expect_same(record, sum, graph, true);
  }
}

struct Heads {
  int64_t dim;
  ops::Pairing pairing;
  int64_t half_rope_dim;
};

TEST_P(Fusion, HeadNormAndRopeBecomeOne) {
  using enum ops::Pairing;
  // Lanes hold neighbours; halves that meet; packs of a part that rotates; fewer than there are
  // lanes, or more than one slot. Where bits differ in any case, the first says all.
  for (const Heads& heads :
       {Heads{64, interleaved, 16}, Heads{64, half_dim, 32}, Heads{64, half_rope, 16},
        Heads{96, half_dim, 48}, Heads{576, half_dim, 64}, Heads{704, half_dim, 352},
        Heads{768, half_dim, 384}}) {
    if (!f32() && heads.pairing != interleaved) break;
    SCOPED_TRACE(heads.dim);
    const Shape shape = {3, 5, heads.dim};
    const View x = buffers.fill(shape), weight = buffers.fill({heads.dim}), y = buffers.fill(shape);
    const View copy = buffers.fill(shape);
    const auto record = [&](Encoder& e) -> Result<void> {
      const View t = buffers.temporary(shape);
      NORITE_TRY(ops::rms_norm(e, {.x = x, .weight = weight, .y = t, .eps = 1e-5f}));
      return ops::rope(e, {.x = t,
                           .y = y,
                           .copy = copy,
                           .angles = {.first_position = 7, .theta = 5e5f},
                           .pairing = heads.pairing,
                           .half_rope_dim = heads.half_rope_dim});
    };
    auto [graph, report] = optimised(buffers.device, record);
    EXPECT_EQ(names(graph), Names{"fused_head_norm_rope"}) << to_string(report);
    ASSERT_EQ(report.fused.size(), 1u);
    EXPECT_EQ(report.fused[0].changes_bits, !f32());
    expect_same(record, y, graph, f32());
    expect_same(record, copy, graph, f32());
  }
}

TEST_P(Fusion, ChainsBecomeOneKernel) {
  const View a = buffers.fill(kRows), b = buffers.fill(kRows), c = buffers.fill(kRows);
  const View y = buffers.fill(kRows);
  const auto record = [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(kRows), u = buffers.temporary(kRows),
               v = buffers.temporary(kRows), w = buffers.temporary(kRows);
    NORITE_TRY(ops::add(e, {.a = a, .b = b, .y = t}));
    NORITE_TRY(ops::silu_mul(e, {.a = t, .b = c, .y = u}));
    NORITE_TRY(ops::scale(e, {.x = u, .y = v, .factor = 1.5f}));
    NORITE_TRY(ops::softcap(e, {.x = v, .y = w, .cap = 3.0f}));
    return ops::add(e, {.a = a, .b = w, .y = y});
  };
  auto [graph, report] = optimised(buffers.device, record);
  EXPECT_EQ(names(graph), Names{"add+silu_mul+scale+softcap+add"}) << to_string(report);
  EXPECT_EQ(report.fused.size(), 4u);
  // Three inputs and an output, each once.
  EXPECT_EQ(report.bytes_after, 4 * a.size_bytes());
  expect_same(record, y, graph, f32());
}

TEST_P(Fusion, ChainsJoinTwoProducers) {
  const View a = buffers.fill(kRows), b = buffers.fill(kRows), y = buffers.fill(kRows);
  const auto record = [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(kRows), u = buffers.temporary(kRows);
    NORITE_TRY(ops::silu(e, {.x = a, .y = t}));
    NORITE_TRY(ops::scale(e, {.x = b, .y = u, .factor = 3}));
    return ops::add(e, {.a = t, .b = u, .y = y});
  };
  auto [graph, report] = optimised(buffers.device, record);
  EXPECT_EQ(names(graph), Names{"scale+silu+add"}) << to_string(report);
  expect_same(record, y, graph, f32());
}

TEST_P(Fusion, ChainsTakeTheFirstOfTwoOutputs) {
  const View a = buffers.fill(kRows), b = buffers.fill(kRows), dy = buffers.fill(kRows);
  const View y = buffers.fill(kRows);
  const auto record = [&](Encoder& e) -> Result<void> {
    const View da = buffers.temporary(kRows);
    NORITE_TRY(ops::silu_mul_backward(e, {.dy = dy, .a = a, .b = b, .da = da}));
    return ops::scale(e, {.x = da, .y = y, .factor = 0.5f});
  };
  auto [graph, report] = optimised(buffers.device, record);
  EXPECT_EQ(names(graph), Names{"silu_mul_backward+scale"}) << to_string(report);
  expect_same(record, y, graph, f32());
}

TEST_P(Fusion, ChainsTakeStridedAndUnevenViews) {
  const Shape shape = {3, 37};
  const View wide = buffers.fill({3, 50}), b = buffers.fill({37, 3}), y = buffers.fill({3, 41});
  const View a = must(wide.slice(1, 5, 42)), out = must(y.slice(1, 0, 37));
  const View turned = must(b.permute({1, 0}));
  const auto record = [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(shape);
    NORITE_TRY(ops::gelu_mul(e, {.a = a, .b = turned, .y = t}));
    return ops::mul(e, {.a = t, .b = turned, .y = out});
  };
  auto [graph, report] = optimised(buffers.device, record);
  EXPECT_EQ(names(graph), Names{"gelu_mul+mul"}) << to_string(report);
  expect_same(record, y, graph, f32());
}

TEST_P(Fusion, ChainsMayBeInPlace) {
  const View a = buffers.fill(kRows), b = buffers.fill(kRows), y = buffers.fill(kRows);
  const auto record = [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(kRows);
    NORITE_TRY(ops::copy(e, {.x = a, .y = y}));
    NORITE_TRY(ops::mul(e, {.a = y, .b = b, .y = t}));
    return ops::add(e, {.a = t, .b = y, .y = y});
  };
  auto [graph, report] = optimised(buffers.device, record);
  EXPECT_EQ(names(graph), (Names{"copy", "mul+add"})) << to_string(report);
  expect_same(record, y, graph, f32());
}

TEST_P(Fusion, ChainsMayEndInACast) {
  const View a = buffers.fill({3, 77}), b = buffers.fill({3, 77});
  for (const DType to : {DType::f32, DType::f16, DType::bf16}) {
    const View y = must(buffers.device.empty(to, {3, 77}));
    const auto record = [&](Encoder& e) -> Result<void> {
      const View t = buffers.temporary({3, 77});
      NORITE_TRY(ops::mul(e, {.a = a, .b = b, .y = t}));
      return ops::copy(e, {.x = t, .y = y});
    };
    auto [graph, report] = optimised(buffers.device, record);
    EXPECT_EQ(names(graph), Names{"mul+copy"}) << to_string(report);
    expect_same(record, y, graph, f32() || buffers.dtype == to);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , Fusion,
    ::testing::Combine(::testing::Values(BuiltinForm::native, BuiltinForm::text),
                       ::testing::Values(DType::f32, DType::f16, DType::bf16)));

// Rows that NVIDIA GPUs keep in threadgroup memory, and rows that groups share there: 65536 and 1
// million columns, the latter with too little room to copy a residual ahead.
TEST(FusionOfLongRows, NormsBecomeOneWithTheirNeighbours) {
  for (const int64_t dim : {12288, 65536, 65537, 1 << 20}) {
    SCOPED_TRACE(dim);
    Buffers buffers(must(Device::open("null", {.builtins = BuiltinForm::text})), DType::f32);
    const Shape rows = {2, dim};
    const View x = buffers.fill(rows), residual = buffers.fill(rows), gate = buffers.fill(rows),
               sum = buffers.fill(rows), y = buffers.fill(rows), z = buffers.fill(rows);
    const auto [graph, report] = optimised(buffers.device, [&](Encoder& e) -> Result<void> {
      const View t = buffers.temporary(rows), unread = buffers.temporary(rows);
      NORITE_TRY(ops::add(e, {.a = x, .b = residual, .y = sum}));
      NORITE_TRY(ops::rms_norm(e, {.x = x, .y = unread}));
      NORITE_TRY(ops::rms_norm(e, {.x = sum, .y = y}));
      NORITE_TRY(ops::rms_norm(e, {.x = residual, .y = t}));
      return ops::mul(e, {.a = gate, .b = t, .y = z});
    });
    ASSERT_EQ(report.fused.size(), 2u) << to_string(report);
    EXPECT_FALSE(report.fused[0].changes_bits);
    EXPECT_FALSE(report.fused[1].changes_bits);
    EXPECT_TRUE(report.declined.empty()) << to_string(report);

    // What groups share is nobody's data: it keeps nothing that nobody reads, and takes no
    // dispatch.
    EXPECT_EQ(names(graph), (Names{"residual_rms_norm", "rms_norm_mul"}));
  }
}

TEST(FusionOfNorms, StaysAwayWhereOperandsThatBeginOtherwiseChangeSums) {
  Buffers buffers(must(Device::open("cpu", {.builtins = BuiltinForm::text})), DType::f32);
  const auto row = [&](int64_t at) {  // of a padded matrix: 0 begins with a pack, 1 does not
    const View padded = buffers.fill({4, 1001});
    return must(must(padded.slice(0, at, at + 1)).slice(1, 0, 1000));
  };
  for (const int64_t at : {0, 1}) {
    const View x = row(at), sum = row(0), residual = buffers.fill({1, 1000}),
               y = buffers.fill({1, 1000});
    const auto [graph, report] = optimised(buffers.device, [&](Encoder& e) -> Result<void> {
      NORITE_TRY(ops::add(e, {.a = x, .b = residual, .y = sum}));
      return ops::rms_norm(e, {.x = sum, .y = y});
    });
    EXPECT_EQ(report.fused.size(), at == 0 ? 1u : 0u) << to_string(report);
    EXPECT_EQ(report.declined.size(), at == 0 ? 0u : 1u) << to_string(report);
  }
}

// The stride of a single token or head may be anything, as in tensors of other libraries.
TEST(FusionOfNorms, HeadsOfOneTokenKeepTheirBits) {
  Buffers buffers(must(Device::open("cpu", {.builtins = BuiltinForm::text})), DType::f32);
  const auto odd = [&] { return must(buffers.fill({5, 64, 1}).permute({2, 0, 1})); };
  const View x = odd(), y = odd();
  ASSERT_EQ(x.strides()[0], 1);
  const auto record = [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary({1, 5, 64});
    NORITE_TRY(ops::rms_norm(e, {.x = x, .y = t}));
    return ops::rope(e, {.x = t, .y = y, .angles = {.first_position = 3}});
  };
  auto [graph, report] = optimised(buffers.device, record);
  ASSERT_EQ(report.fused.size(), 1u) << to_string(report);
  test::run(buffers.device, [&](Encoder& e) { return record(e); });
  const auto expected = test::download(y);
  must(graph.replay());
  EXPECT_EQ(test::download(y), expected);
}

TEST(FusionOfNorms, StaysAwayWhereHeadsAreNotOfWholePacks) {
  Buffers buffers(must(Device::open("cpu", {.builtins = BuiltinForm::text})), DType::f32);
  const Shape shape = {2, 3, 36};  // eighteen are no packs of four
  const View x = buffers.fill(shape), y = buffers.fill(shape);
  const auto [graph, report] = optimised(buffers.device, [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(shape);
    NORITE_TRY(ops::rms_norm(e, {.x = x, .y = t}));
    return ops::rope(e, {.x = t, .y = y});
  });
  EXPECT_TRUE(report.fused.empty()) << to_string(report);
  ASSERT_EQ(report.declined.size(), 1u);
  EXPECT_NE(report.declined[0].reason.find("changes sums"), std::string::npos);
}

// --- Where rules must not fire ----------------------------------------------------------------

class NoFusion : public ::testing::Test {
 protected:
  /// Nothing is fused, and the report says why.
  void expect_left(const test::Recorder& record, std::string_view reason) {
    auto [graph, report] = optimised(buffers.device, record);
    EXPECT_TRUE(report.fused.empty()) << to_string(report);
    ASSERT_FALSE(report.declined.empty());
    EXPECT_NE(report.declined[0].reason.find(reason), std::string::npos)
        << report.declined[0].reason;
  }

  Buffers buffers{test::cpu_device(), DType::f32};
  const View x = buffers.fill(kRows), w = buffers.fill({64}), g = buffers.fill(kRows),
             y = buffers.fill(kRows), z = buffers.fill(kRows);
};

TEST_F(NoFusion, WhereTheIntermediateIsHeldOutside) {
  const View t = buffers.temporary(kRows);
  expect_left(
      [&](Encoder& e) -> Result<void> {
        NORITE_TRY(ops::rms_norm(e, {.x = x, .weight = w, .y = t}));
        return ops::mul(e, {.a = t, .b = g, .y = y});
      },
      "held outside");
}

TEST_F(NoFusion, WhereAnotherReadsTheIntermediate) {
  expect_left(
      [&](Encoder& e) -> Result<void> {
        const View t = buffers.temporary(kRows);
        NORITE_TRY(ops::silu(e, {.x = x, .y = t}));
        NORITE_TRY(ops::mul(e, {.a = t, .b = g, .y = y}));
        return ops::rms_norm(e, {.x = t, .y = z});
      },
      "another operation reads");
}

TEST_F(NoFusion, WhereAnotherWritesTheIntermediate) {
  expect_left(
      [&](Encoder& e) -> Result<void> {
        const View t = buffers.temporary(kRows);
        NORITE_TRY(ops::rms_norm(e, {.x = x, .y = t}));
        NORITE_TRY(ops::silu(e, {.x = x, .y = t}));
        return ops::mul(e, {.a = t, .b = g, .y = y});
      },
      "another operation writes");
}

TEST_F(NoFusion, WhereTheIntermediateIsReadInAnotherShape) {
  auto [graph, report] = optimised(buffers.device, [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(kRows);
    NORITE_TRY(ops::silu(e, {.x = x, .y = t}));
    NORITE_TRY_ASSIGN(const View flat, t.reshape({256}));
    NORITE_TRY_ASSIGN(const View out, y.reshape({256}));
    return ops::scale(e, {.x = flat, .y = out, .factor = 2});
  });
  EXPECT_EQ(names(graph), (Names{"silu", "scale"}));
}

TEST_F(NoFusion, WhereAnOperandChangesInBetween) {
  expect_left(
      [&](Encoder& e) -> Result<void> {
        const View t = buffers.temporary(kRows);
        NORITE_TRY(ops::silu(e, {.x = x, .y = t}));
        NORITE_TRY(ops::rms_norm_mul(e, {.x = z, .scale = g, .y = x}));
        return ops::mul(e, {.a = t, .b = x, .y = y});
      },
      "between the two");
}

TEST_F(NoFusion, AcrossAFence) {
  expect_left(
      [&](Encoder& e) -> Result<void> {
        const View t = buffers.temporary(kRows);
        NORITE_TRY(ops::silu(e, {.x = x, .y = t}));
        NORITE_TRY(e.fence());
        return ops::mul(e, {.a = t, .b = g, .y = y});
      },
      "fence");
}

TEST_F(NoFusion, WhereRmsInvIsAskedFor) {
  const View heads = buffers.fill(kHeads), rotated = buffers.fill(kHeads);
  const View rms_inv = must(buffers.device.empty(DType::f32, {4, 8}));
  expect_left(
      [&](Encoder& e) -> Result<void> {
        const View t = buffers.temporary(kHeads);
        NORITE_TRY(ops::rms_norm(e, {.x = heads, .y = t, .rms_inv = rms_inv}));
        return ops::rope(e, {.x = t, .y = rotated});
      },
      "rms_inv");
}

TEST_F(NoFusion, WhereTheNormRoundsBeforeItsWeight) {
  const View heads = buffers.fill(kHeads), rotated = buffers.fill(kHeads);
  expect_left(
      [&](Encoder& e) -> Result<void> {
        const View t = buffers.temporary(kHeads);
        NORITE_TRY(ops::rms_norm(
            e, {.x = heads, .weight = w, .y = t, .rounding = ops::Rounding::before_weight}));
        return ops::rope(e, {.x = t, .y = rotated});
      },
      "before its weight");
}

TEST_F(NoFusion, WhereOperandsShareMemoryInPart) {
  const View wide = buffers.fill({6, 64});
  const View in = must(wide.slice(0, 0, 4)), out = must(wide.slice(0, 2, 6));
  expect_left(
      [&](Encoder& e) -> Result<void> {
        const View t = buffers.temporary(kRows);
        NORITE_TRY(ops::silu(e, {.x = in, .y = t}));
        return ops::mul(e, {.a = t, .b = g, .y = out});
      },
      "shares memory");
}

TEST_F(NoFusion, OfCasts) {
  const View back = buffers.fill(kRows);
  expect_left(
      [&](Encoder& e) -> Result<void> {
        const View t = must(buffers.device.empty(DType::bf16, kRows));
        NORITE_TRY(ops::copy(e, {.x = x, .y = t}));
        return ops::copy(e, {.x = t, .y = back});
      },
      "cast");
}

TEST_F(NoFusion, OfMoreThanThreeInputs) {
  const View a = buffers.fill(kRows), b = buffers.fill(kRows);
  auto [graph, report] = optimised(buffers.device, [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(kRows), u = buffers.temporary(kRows);
    NORITE_TRY(ops::add(e, {.a = a, .b = b, .y = t}));
    NORITE_TRY(ops::add(e, {.a = t, .b = x, .y = u}));
    return ops::add(e, {.a = u, .b = g, .y = y});
  });
  EXPECT_EQ(names(graph), (Names{"add+add", "add"}));
  ASSERT_EQ(report.declined.size(), 1u);
  EXPECT_NE(report.declined[0].reason.find("three inputs"), std::string::npos);
}

TEST_F(NoFusion, OfMoreThanEightSteps) {
  auto [graph, report] = optimised(buffers.device, [&](Encoder& e) -> Result<void> {
    View from = x;
    for (int i = 0; i < 9; ++i) {
      const View to = i == 8 ? y : buffers.temporary(kRows);
      NORITE_TRY(ops::scale(e, {.x = from, .y = to, .factor = 1.25f}));
      from = to;
    }
    return {};
  });
  EXPECT_EQ(graph.describe().operations.size(), 2u);
}

TEST_F(NoFusion, OfWhatIsReadBeforeItIsWritten) {
  // The buffer carries a value from one replay to the next.
  auto [graph, report] = optimised(buffers.device, [&](Encoder& e) -> Result<void> {
    const View state = buffers.temporary(kRows);
    NORITE_TRY(ops::add(e, {.a = state, .b = x, .y = y}));
    return ops::copy(e, {.x = y, .y = state});
  });
  EXPECT_EQ(names(graph), (Names{"add", "copy"}));
  must(graph.replay());
  must(graph.replay());
  const auto once = test::download(x), twice = test::download(y);
  for (size_t i = 0; i < once.size(); ++i) ASSERT_EQ(twice[i], once[i] + once[i]);
}

TEST_F(NoFusion, OfKernelsOfTheUsers) {
  const Pipeline kernel =
      test::idle_kernel(buffers.device, "mine", {{"in", Access::read}, {"out", Access::write}});
  auto [graph, report] = optimised(buffers.device, [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(kRows), u = buffers.temporary(kRows);
    NORITE_TRY(ops::silu(e, {.x = x, .y = t}));
    const std::array<Argument, 2> arguments = {t, u};
    NORITE_TRY(e.dispatch(kernel, arguments));
    return ops::mul(e, {.a = u, .b = g, .y = y});
  });
  EXPECT_EQ(names(graph), (Names{"silu", "mine", "mul"}));
}

TEST_F(NoFusion, WithoutBeingAskedFor) {
  Graph graph = must(Graph::capture(buffers.device, [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(kRows);
    NORITE_TRY(ops::silu(e, {.x = x, .y = t}));
    return ops::mul(e, {.a = t, .b = g, .y = y});
  }));
  (void)must(graph.optimise({.fuse = false}));
  EXPECT_EQ(names(graph), (Names{"silu", "mul"}));
}

// --- Results that nobody reads ----------------------------------------------------------------

TEST_F(NoFusion, MemoryOfOthersIsSeenFromOutside) {
  alignas(64) std::array<float, 256> theirs = {};
  auto [graph, report] = optimised(buffers.device, [&](Encoder& e) -> Result<void> {
    NORITE_TRY_ASSIGN(const auto storage,
                      buffers.device.state()->backend().wrap(
                          reinterpret_cast<uintptr_t>(theirs.data()), sizeof theirs, nullptr));
    return ops::scale(e, {.x = x, .y = View(Buffer(storage, DType::f32, kRows)), .factor = 1});
  });
  EXPECT_EQ(names(graph), Names{"scale"});
  must(graph.replay());
  EXPECT_EQ(std::vector<float>(theirs.begin(), theirs.end()), test::download(x));
}

TEST_F(NoFusion, UnreadOperationsVanish) {
  auto [graph, report] = optimised(buffers.device, [&](Encoder& e) -> Result<void> {
    const View t = buffers.temporary(kRows), u = buffers.temporary(kRows);
    NORITE_TRY(ops::silu(e, {.x = x, .y = t}));
    NORITE_TRY(ops::rms_norm(e, {.x = t, .y = u}));
    return ops::mul(e, {.a = x, .b = g, .y = y});
  });
  EXPECT_EQ(names(graph), Names{"mul"});
  EXPECT_EQ(report.removed, (Names{"silu", "rms_norm"}));
}

}  // namespace
}  // namespace norite
