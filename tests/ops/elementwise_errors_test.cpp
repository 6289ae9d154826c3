// SPDX-License-Identifier: MIT
// Bad input to the elementwise operations.
#include <cmath>

#include "norite/norite.hpp"
#include "ops/refusals.hpp"

namespace norite::test {
namespace {

const Shape kShape = {3, 4, 8};

/// Any strides will do.
template <class Op>
Field<Op> anyhow(Field<Op> field) {
  field.lies = Lies::anyhow;
  return field;
}

/// Five axes of which no two lie evenly in every operand: one more than kernels take.
template <class Op>
Spoiled<Op> five_axes(Tensors& tensors, const std::vector<Field<Op>>& fields) {
  const Shape shape = {2, 2, 2, 2, 8};
  const View gaps = tensors.strided(shape, {648, 216, 72, 24, 2});
  std::vector<View> views = {gaps};
  std::string first_output;
  for (const Field<Op>& field : fields) {
    if (field.output && first_output.empty()) first_output = field.name;
    views.push_back(tensors.make(shape));
  }
  return {"five strided axes", first_output, [fields, views](Op& op) {
            for (size_t i = 0; i < fields.size(); ++i) fields[i].of(op) = views[i];
          }};
}

template <class Op>
std::vector<Spoiled<Op>> wrong_options() {
  if constexpr (requires(Op op) { op.cap; }) {
    return {with("cap", &Op::cap, 0.0f), with("cap", &Op::cap, -1.0f), with("cap", &Op::cap, NAN),
            with("cap", &Op::cap, INFINITY)};
  } else if constexpr (requires(Op op) { op.factor; }) {
    return {with("factor", &Op::factor, NAN), with("factor", &Op::factor, -INFINITY)};
  } else if constexpr (requires(Op op) { op.form; }) {
    return with_unknown("form", &Op::form, 2);
  } else {
    return {};
  }
}

/// What the operations share; Fields lists their views.
template <class Operation, Result<void> (*kRun)(Encoder&, const Operation&), class Fields>
struct Elementwise {
  using Op = Operation;
  static Result<void> run(Encoder& encoder, const Op& op) { return kRun(encoder, op); }
  static std::vector<Field<Op>> fields() { return Fields::template of<Op>(); }
  static Op good(Tensors& tensors) {
    Op op = {};
    for (const Field<Op>& field : fields()) field.of(op) = tensors.make(kShape);
    if constexpr (requires { op.cap; }) op.cap = 30.0f;
    return op;
  }
  static std::vector<Pair> in_place() {
    std::vector<Pair> pairs;
    for (const Field<Op>& output : fields()) {
      for (const Field<Op>& input : fields()) {
        if (output.output && !input.output) pairs.emplace_back(output.name, input.name);
      }
    }
    return pairs;
  }
  static std::vector<Spoiled<Op>> others(Tensors& tensors) {
    auto rows = wrong_options<Op>();
    rows.push_back(five_axes(tensors, fields()));
    return rows;
  }
};

struct Unary {
  template <class Op>
  static std::vector<Field<Op>> of() {
    return {anyhow(required<&Op::x>("x")), anyhow(written(required<&Op::y>("y")))};
  }
};
struct Conversion {
  template <class Op>
  static std::vector<Field<Op>> of() {
    return {anyhow(required<&Op::x>("x")), any_float(anyhow(written(required<&Op::y>("y"))))};
  }
};
struct Binary {
  template <class Op>
  static std::vector<Field<Op>> of() {
    return {anyhow(required<&Op::a>("a")), anyhow(required<&Op::b>("b")),
            anyhow(written(required<&Op::y>("y")))};
  }
};
struct UnaryBackward {
  template <class Op>
  static std::vector<Field<Op>> of() {
    return {anyhow(required<&Op::dy>("dy")), anyhow(required<&Op::x>("x")),
            anyhow(written(required<&Op::dx>("dx")))};
  }
};
struct BinaryBackward {
  template <class Op>
  static std::vector<Field<Op>> of() {
    return {anyhow(required<&Op::dy>("dy")), anyhow(required<&Op::a>("a")),
            anyhow(required<&Op::b>("b")), anyhow(written(optional<&Op::da>("da"))),
            anyhow(written(optional<&Op::db>("db")))};
  }
};

struct Add : Elementwise<ops::Add, ops::add, Binary> {
  static constexpr std::string_view kName = "add";
};
struct Mul : Elementwise<ops::Mul, ops::mul, Binary> {
  static constexpr std::string_view kName = "mul";
};
struct MulBackward : Elementwise<ops::MulBackward, ops::mul_backward, BinaryBackward> {
  static constexpr std::string_view kName = "mul_backward";
};
struct Scale : Elementwise<ops::Scale, ops::scale, Unary> {
  static constexpr std::string_view kName = "scale";
};
struct Copy : Elementwise<ops::Copy, ops::copy, Conversion> {
  static constexpr std::string_view kName = "copy";
};
struct Softcap : Elementwise<ops::Softcap, ops::softcap, Unary> {
  static constexpr std::string_view kName = "softcap";
};
struct SoftcapBackward : Elementwise<ops::SoftcapBackward, ops::softcap_backward, UnaryBackward> {
  static constexpr std::string_view kName = "softcap_backward";
};
struct Silu : Elementwise<ops::Silu, ops::silu, Unary> {
  static constexpr std::string_view kName = "silu";
};
struct SiluBackward : Elementwise<ops::SiluBackward, ops::silu_backward, UnaryBackward> {
  static constexpr std::string_view kName = "silu_backward";
};
struct SiluMul : Elementwise<ops::SiluMul, ops::silu_mul, Binary> {
  static constexpr std::string_view kName = "silu_mul";
};
struct SiluMulBackward : Elementwise<ops::SiluMulBackward, ops::silu_mul_backward, BinaryBackward> {
  static constexpr std::string_view kName = "silu_mul_backward";
};
struct Gelu : Elementwise<ops::Gelu, ops::gelu, Unary> {
  static constexpr std::string_view kName = "gelu";
};
struct GeluBackward : Elementwise<ops::GeluBackward, ops::gelu_backward, UnaryBackward> {
  static constexpr std::string_view kName = "gelu_backward";
};
struct GeluMul : Elementwise<ops::GeluMul, ops::gelu_mul, Binary> {
  static constexpr std::string_view kName = "gelu_mul";
};
struct GeluMulBackward : Elementwise<ops::GeluMulBackward, ops::gelu_mul_backward, BinaryBackward> {
  static constexpr std::string_view kName = "gelu_mul_backward";
};

using Arithmetic = ::testing::Types<Add, Mul, MulBackward, Scale, Copy, Softcap, SoftcapBackward>;
INSTANTIATE_TYPED_TEST_SUITE_P(arithmetic, Refusals, Arithmetic);
using Activations = ::testing::Types<Silu, SiluBackward, SiluMul, SiluMulBackward, Gelu,
                                     GeluBackward, GeluMul, GeluMulBackward>;
INSTANTIATE_TYPED_TEST_SUITE_P(activations, Refusals, Activations);

class ElementwiseErrors : public ::testing::Test {
 protected:
  Device device_ = cpu_device();
  Tensors tensors_{device_};
  Encoder encoder_ = device_.encoder();
};

TEST_F(ElementwiseErrors, nothing_is_broadcast) {
  expect_error(ops::add(encoder_, {.a = tensors_.make({3, 8}),
                                   .b = tensors_.make({1, 8}),
                                   .y = tensors_.make({3, 8})}),
               Code::invalid_argument, {"add: b has shape [1, 8], expected [3, 8]"});
}

TEST_F(ElementwiseErrors, a_backward_without_outputs_is_refused) {
  const View x = tensors_.make({3, 8});
  expect_error(ops::mul_backward(encoder_, {.dy = x, .a = x, .b = x}), Code::invalid_argument,
               {"mul_backward: da and db are not given"});
}

TEST_F(ElementwiseErrors, a_cast_onto_its_own_bytes_is_refused) {
  const View x = tensors_.make({3, 8}, DType::f16);
  expect_error(ops::copy(encoder_, {.x = x, .y = must(x.reinterpret(DType::bf16))}),
               Code::invalid_argument, {"copy: y shares memory with x"});
}

}  // namespace
}  // namespace norite::test
