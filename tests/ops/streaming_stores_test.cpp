// SPDX-License-Identifier: MIT
// Outputs beyond the caches take streaming stores where rows are aligned; outputs in the place of x
// or of a gradient never do. Both give the same bits.
#include <gtest/gtest.h>

#include "backends/cpu/streaming.hpp"
#include "host_values.hpp"
#include "ops/tested_device.hpp"

namespace norite {
namespace {

using test::must;

/// The SIMD level, the dtype, and a dim that keeps rows aligned or does not.
class StreamingStores : public test::OnDevice<std::tuple<std::string, DType, int64_t>> {
 protected:
  [[nodiscard]] Buffer values(uint32_t seed) const {
    return test::upload_repeated(device(), dtype_, shape_, test::pattern(7 * dim_, seed));
  }
  [[nodiscard]] Buffer empty() const { return must(device().empty(dtype_, shape_)); }
  /// Common sizes of heads have code of their own.
  [[nodiscard]] View heads(const Buffer& buffer) const {
    const int64_t count = dim_ % 128 == 0 ? dim_ / 128 : 6;
    return must(View(buffer).reshape({rows_, count, dim_ / count}));
  }
  static void expect_same(const Buffer& a, const Buffer& b) { EXPECT_TRUE(test::same_bytes(a, b)); }

  const DType dtype_ = std::get<1>(GetParam());
  const int64_t dim_ = std::get<2>(GetParam());
  const int64_t rows_ = cpu::kStreamBytes / (4096 * size_of(dtype_));
  const Shape shape_ = {rows_, dim_};
};

TEST_P(StreamingStores, RmsNorm) {
  const Buffer x = values(1);
  const Buffer y = empty();
  test::run(device(), [&](Encoder& e) { return ops::rms_norm(e, {.x = x, .y = y}); });
  test::run(device(), [&](Encoder& e) { return ops::rms_norm(e, {.x = x, .y = x}); });
  expect_same(y, x);
}

TEST_P(StreamingStores, ResidualRmsNorm) {
  const auto run = [&](const Buffer& x, const Buffer& residual, const Buffer& sum,
                       const Buffer& y) {
    test::run(device(), [&](Encoder& e) {
      return ops::residual_rms_norm(e, {.x = x, .residual = residual, .sum = sum, .y = y});
    });
  };
  const Buffer sum = empty(), y = empty();
  run(values(1), values(2), sum, y);
  {
    const Buffer x = values(1), residual = values(2), other = empty();
    run(x, residual, residual, other);
    expect_same(sum, residual);
    expect_same(y, other);
  }
  {
    const Buffer x = values(1), residual = values(2), other = empty();
    run(x, residual, x, other);
    expect_same(sum, x);
    expect_same(y, other);
  }
  const Buffer x = values(1), residual = values(2);
  run(x, residual, residual, x);
  expect_same(sum, residual);
  expect_same(y, x);
}

TEST_P(StreamingStores, RmsNormMul) {
  const Buffer x = values(1), scale = values(2), same_scale = values(2), y = empty();
  const auto run = [&](const Buffer& by, const Buffer& out) {
    test::run(device(),
              [&](Encoder& e) { return ops::rms_norm_mul(e, {.x = x, .scale = by, .y = out}); });
  };
  run(scale, y);
  run(scale, scale);
  run(same_scale, x);
  expect_same(y, scale);
  expect_same(y, x);
}

TEST_P(StreamingStores, RmsNormBackwardOfAll) {
  const Buffer x = values(1), dy = values(2), dresidual = values(3), dx = empty();
  const Buffer w = test::upload(device(), dtype_, {dim_}, test::pattern(dim_, 4));
  const auto dw_beside = [&](const Buffer& out) {
    const Buffer dw = must(device().empty(DType::f32, {dim_}));
    test::run(device(), [&](Encoder& e) {
      return ops::rms_norm_backward(
          e, {.x = x, .weight = w, .dy = dy, .dresidual = dresidual, .dx = out, .dw = dw});
    });
    return dw;
  };
  const Buffer dw = dw_beside(dx);
  expect_same(dw, dw_beside(dresidual));  // the second one overwrites what both read
  expect_same(dx, dresidual);
}

TEST_P(StreamingStores, RmsNormBackward) {
  const Buffer x = values(1), dy = values(2), dx = empty();
  test::run(device(),
            [&](Encoder& e) { return ops::rms_norm_backward(e, {.x = x, .dy = dy, .dx = dx}); });
  test::run(device(),
            [&](Encoder& e) { return ops::rms_norm_backward(e, {.x = x, .dy = dy, .dx = dy}); });
  expect_same(dx, dy);
}

TEST_P(StreamingStores, HeadNormRope) {
  const Buffer x = values(1), y = empty();
  for (const Buffer& out : {y, x}) {
    test::run(device(), [&](Encoder& e) {
      return ops::fused_head_norm_rope(e, {.x = heads(x), .y = heads(out)});
    });
  }
  expect_same(y, x);
}

TEST_P(StreamingStores, HeadNormRopeBackward) {
  const Buffer x = values(1), dy = values(2), dx = empty();
  for (const Buffer& out : {dx, dy}) {
    test::run(device(), [&](Encoder& e) {
      return ops::fused_head_norm_rope_backward(e,
                                                {.x = heads(x), .dy = heads(dy), .dx = heads(out)});
    });
  }
  expect_same(dx, dy);
}

TEST_P(StreamingStores, Rope) {
  const Buffer x = values(1), y = empty();
  for (const Buffer& out : {y, x}) {
    test::run(device(), [&](Encoder& e) { return ops::rope(e, {.x = heads(x), .y = heads(out)}); });
  }
  expect_same(y, x);
}

TEST_P(StreamingStores, Elementwise) {
  const Buffer dy = values(1), a = values(2), b = values(3), da = empty(), db = empty();
  test::run(device(), [&](Encoder& e) {
    return ops::silu_mul_backward(e, {.dy = dy, .a = a, .b = b, .da = da, .db = db});
  });
  test::run(device(), [&](Encoder& e) {
    return ops::silu_mul_backward(e, {.dy = dy, .a = a, .b = b, .da = a, .db = b});
  });
  expect_same(da, a);
  expect_same(db, b);
}

/// Levels that stream, which emulated vectors do not, and both ways of passes; under a sanitizer
/// those alone, or the best level where there is one way.
std::vector<std::string> streaming_devices() {
  std::vector<std::string> levels = Device::cpu_targets();
  std::erase(levels, "EMU128");
  std::vector<std::string> devices = test::tested_passes();
#if defined(NORITE_TEST_SANITIZED)
  levels.resize(devices.empty() ? 1 : 0);
#endif
  devices.insert(devices.end(), levels.begin(), levels.end());
  return devices;
}

INSTANTIATE_TEST_SUITE_P(Rows, StreamingStores,
                         testing::Combine(testing::ValuesIn(streaming_devices()),
                                          testing::ValuesIn(kFloatDTypes),
                                          testing::Values(4096, 4104)),
                         [](const auto& one) {
                           return std::get<0>(one.param) + "_" +
                                  std::string(name(std::get<1>(one.param))) + "_" +
                                  std::to_string(std::get<2>(one.param));
                         });

}  // namespace
}  // namespace norite
