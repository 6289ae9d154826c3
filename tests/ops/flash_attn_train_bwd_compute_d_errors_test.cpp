// SPDX-License-Identifier: MIT
// Bad input to flash_attn_train_bwd_compute_d.
#include "norite/ops/flash_attn_train_bwd_compute_d.hpp"
#include "ops/refusals.hpp"

namespace norite::test {
namespace {

struct ComputeDSpec {
  using Op = ops::FlashAttnTrainBwdComputeD;
  static constexpr std::string_view kName = "flash_attn_train_bwd_compute_d";
  static Result<void> run(Encoder& encoder, const Op& op) {
    return ops::flash_attn_train_bwd_compute_d(encoder, op);
  }
  static Op good(Tensors& tensors) {
    return {.o = tensors.make({2, 3, 5, 8}),
            .d_o = tensors.make({2, 3, 5, 8}),
            .d = tensors.make({2, 3, 5})};
  }
  static std::vector<Field<Op>> fields() {
    return {required<&Op::o>("o"), required<&Op::d_o>("d_o"),
            per_row(written(required<&Op::d>("d")))};
  }
  static std::vector<Pair> in_place() { return {}; }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) {
    const View scattered = tensors.scattered(8);
    const View plain = tensors.make({2, 2, 2, 2, 8});
    const View rows = tensors.make({2, 2, 2, 2});
    return {
        {"four strided leading axes", "o",
         [=](Op& op) { op = {.o = scattered, .d_o = plain, .d = rows}; }},
        {"d with the last axis of o", "d",
         [&tensors](Op& op) { op.d = tensors.make({2, 3, 5, 8}); }},
    };
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(attention, Refusals, ComputeDSpec);

}  // namespace
}  // namespace norite::test
