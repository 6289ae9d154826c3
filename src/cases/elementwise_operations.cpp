// SPDX-License-Identifier: MIT
#include "cases/elementwise.hpp"
#include "cases/elementwise_reference.hpp"

#include <norite/ops/add.hpp>
#include <norite/ops/copy.hpp>
#include <norite/ops/gelu.hpp>
#include <norite/ops/mul.hpp>
#include <norite/ops/scale.hpp>
#include <norite/ops/silu.hpp>
#include <norite/ops/softcap.hpp>

#include <cmath>

namespace norite::cases {
namespace {

using Views = std::span<const View>;
using Elements = std::span<const double>;
using Outputs = std::array<Expected, 2>;
using ops::GeluForm;

constexpr float kFactor = -1.7f;
constexpr float kCap = 2.5f;

Expected product(double a, double b) { return {.value = a * b, .magnitude = std::abs(a * b)}; }

template <Point (*kAt)(double)>
Outputs value(Elements in) {
  return {kAt(in[0]).value};
}
template <Point (*kAt)(double)>
Outputs backward(Elements in) {
  return {times(kAt(in[1]).slope, in[0])};
}
template <Point (*kAt)(double)>
Outputs gated(Elements in) {
  return {times(kAt(in[0]).value, in[1])};
}
template <Point (*kAt)(double)>
Outputs gated_backward(Elements in) {
  const auto [dy, a, b] = std::array{in[0], in[1], in[2]};
  Expected da = times(kAt(a).slope, dy * b);
  da.slack += kAt(a).slope.magnitude * 0x1p-149;  // dy · b may be subnormal
  return {da, times(kAt(a).value, dy)};
}

template <GeluForm kForm>
Result<void> encode_gelu(Encoder& e, Views in, Views out) {
  return ops::gelu(e, {.x = in[0], .y = out[0], .form = kForm});
}
template <GeluForm kForm>
Result<void> encode_gelu_backward(Encoder& e, Views in, Views out) {
  return ops::gelu_backward(e, {.dy = in[0], .x = in[1], .dx = out[0], .form = kForm});
}
template <GeluForm kForm>
Result<void> encode_gelu_mul(Encoder& e, Views in, Views out) {
  return ops::gelu_mul(e, {.a = in[0], .b = in[1], .y = out[0], .form = kForm});
}
template <GeluForm kForm>
Result<void> encode_gelu_mul_backward(Encoder& e, Views in, Views out) {
  return ops::gelu_mul_backward(
      e, {.dy = in[0], .a = in[1], .b = in[2], .da = out[0], .db = out[1], .form = kForm});
}

std::vector<ElementwiseOperation> arithmetic() {
  return {
      {"add",
       "",
       {"a", "b"},
       {"y"},
       1,
       [](Encoder& e, Views in, Views out) {
         return ops::add(e, {.a = in[0], .b = in[1], .y = out[0]});
       },
       [](Elements in) {
         return Outputs{{{.value = in[0] + in[1], .magnitude = std::abs(in[0]) + std::abs(in[1])}}};
       }},
      {"mul",
       "",
       {"a", "b"},
       {"y"},
       1,
       [](Encoder& e, Views in, Views out) {
         return ops::mul(e, {.a = in[0], .b = in[1], .y = out[0]});
       },
       [](Elements in) { return Outputs{product(in[0], in[1])}; }},
      {"mul_backward",
       "",
       {"dy", "a", "b"},
       {"da", "db"},
       2,
       [](Encoder& e, Views in, Views out) {
         return ops::mul_backward(
             e, {.dy = in[0], .a = in[1], .b = in[2], .da = out[0], .db = out[1]});
       },
       [](Elements in) { return Outputs{product(in[0], in[2]), product(in[0], in[1])}; }},
      {"scale",
       "",
       {"x"},
       {"y"},
       1,
       [](Encoder& e, Views in, Views out) {
         return ops::scale(e, {.x = in[0], .y = out[0], .factor = kFactor});
       },
       [](Elements in) { return Outputs{product(in[0], kFactor)}; }},
      {"copy",
       "",
       {"x"},
       {"y"},
       0,
       [](Encoder& e, Views in, Views out) { return ops::copy(e, {.x = in[0], .y = out[0]}); },
       [](Elements in) { return Outputs{product(in[0], 1)}; }},
      {"softcap",
       "",
       {"x"},
       {"y"},
       20,
       [](Encoder& e, Views in, Views out) {
         return ops::softcap(e, {.x = in[0], .y = out[0], .cap = kCap});
       },
       [](Elements in) { return Outputs{softcap_at(in[0], kCap).value}; }},
      {"softcap_backward",
       "",
       {"dy", "x"},
       {"dx"},
       20,
       [](Encoder& e, Views in, Views out) {
         return ops::softcap_backward(e, {.dy = in[0], .x = in[1], .dx = out[0], .cap = kCap});
       },
       [](Elements in) { return Outputs{times(softcap_at(in[1], kCap).slope, in[0])}; }},
  };
}

std::vector<ElementwiseOperation> silus() {
  return {
      {"silu",
       "",
       {"x"},
       {"y"},
       16,
       [](Encoder& e, Views in, Views out) { return ops::silu(e, {.x = in[0], .y = out[0]}); },
       value<silu_at>},
      {"silu_backward",
       "",
       {"dy", "x"},
       {"dx"},
       20,
       [](Encoder& e, Views in, Views out) {
         return ops::silu_backward(e, {.dy = in[0], .x = in[1], .dx = out[0]});
       },
       backward<silu_at>},
      {"silu_mul",
       "",
       {"a", "b"},
       {"y"},
       17,
       [](Encoder& e, Views in, Views out) {
         return ops::silu_mul(e, {.a = in[0], .b = in[1], .y = out[0]});
       },
       gated<silu_at>},
      {"silu_mul_backward",
       "",
       {"dy", "a", "b"},
       {"da", "db"},
       22,
       [](Encoder& e, Views in, Views out) {
         return ops::silu_mul_backward(
             e, {.dy = in[0], .a = in[1], .b = in[2], .da = out[0], .db = out[1]});
       },
       gated_backward<silu_at>},
  };
}

template <GeluForm kForm, Point (*kAt)(double)>
std::vector<ElementwiseOperation> gelus(std::string_view option) {
  return {
      {"gelu", option, {"x"}, {"y"}, 30, encode_gelu<kForm>, value<kAt>},
      {"gelu_backward",
       option,
       {"dy", "x"},
       {"dx"},
       32,
       encode_gelu_backward<kForm>,
       backward<kAt>},
      {"gelu_mul", option, {"a", "b"}, {"y"}, 31, encode_gelu_mul<kForm>, gated<kAt>},
      {"gelu_mul_backward",
       option,
       {"dy", "a", "b"},
       {"da", "db"},
       36,
       encode_gelu_mul_backward<kForm>,
       gated_backward<kAt>},
  };
}

}  // namespace

std::span<const ElementwiseOperation> elementwise_operations() {
  static const std::vector<ElementwiseOperation> all = [] {
    std::vector<ElementwiseOperation> rows = arithmetic();
    for (const auto& more : {silus(), gelus<GeluForm::erf, gelu_at>(""),
                             gelus<GeluForm::tanh, gelu_tanh_at>("tanh")}) {
      rows.insert(rows.end(), more.begin(), more.end());
    }
    return rows;
  }();
  return all;
}

}  // namespace norite::cases
