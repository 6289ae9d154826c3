// SPDX-License-Identifier: MIT
#include "cases/rope_problem.hpp"

#include <cmath>

namespace norite::cases {
namespace {

/// Absolute error of a cosine that was rounded to f32.
constexpr double kCacheError = 0x1p-25;
/// The longest context that models of today are trained for.
constexpr double kLastPosition = 131071;

/// The two elements of a head that a pair rotates.
struct Pair {
  size_t a, b;
};

Pair pair_of(const RopeSpec& spec, int64_t i) {
  switch (spec.pairing) {
    case ops::Pairing::half_dim:
      return {static_cast<size_t>(i), static_cast<size_t>(i + spec.head_dim / 2)};
    case ops::Pairing::half_rope:
      return {static_cast<size_t>(i), static_cast<size_t>(i + spec.pairs())};
    case ops::Pairing::interleaved:
      return {static_cast<size_t>(2 * i), static_cast<size_t>(2 * i + 1)};
  }
  return {};
}

}  // namespace

Result<void> RopeProblem::prepare_angles() {
  NORITE_TRY(prepare_positions());
  if (spec_.freq_factors && spec_.pairs() > 0) {
    Values factors = random_values("freq_factors", spec_.pairs());
    for (double& factor : factors) factor = round_to(DType::f32, 1 + std::abs(factor));
    NORITE_TRY_ASSIGN(freq_factors_,
                      input("freq_factors", DType::f32, {spec_.pairs()}, {}, factors));
  }
  return spec_.cached && spec_.pairs() > 0 ? prepare_caches() : Result<void>{};
}

Result<void> RopeProblem::prepare_positions() {
  if (spec_.positions == RopeSpec::Positions::sequential) return {};
  // Spread over the whole range, in an order that is not monotonic.
  Values positions(static_cast<size_t>(spec_.tokens));
  double at = kLastPosition;
  for (double& position : positions) {
    position = at;
    at = std::fmod(at * 5 + 17, kLastPosition + 1);
  }
  const DType dtype = spec_.positions == RopeSpec::Positions::i32 ? DType::i32 : DType::u32;
  NORITE_TRY_ASSIGN(positions_, input("positions", dtype, {spec_.tokens}, {}, positions));
  return {};
}

Result<void> RopeProblem::prepare_caches() {
  Values cos, sin;
  for (int64_t token = 0; token < spec_.tokens; ++token) {
    for (int64_t pair = 0; pair < spec_.pairs(); ++pair) {
      const Angle angle = exact_angle(token, pair);
      cos.push_back(angle.cos);
      sin.push_back(angle.sin);
    }
  }
  const Shape shape = {spec_.tokens, spec_.pairs()};
  NORITE_TRY_ASSIGN(cos_, input("cos", DType::f32, shape, {}, cos));
  NORITE_TRY_ASSIGN(sin_, input("sin", DType::f32, shape, {}, sin));
  return {};
}

Result<void> RopeProblem::prepare_weight() {
  if (spec_.weight == Weight::none) return {};
  const DType dtype = weight_dtype(spec_.dtype, spec_.f32_weight);
  NORITE_TRY_ASSIGN(weight_, input("weight", dtype, {spec_.head_dim}));
  return {};
}

ops::RopeAngles RopeProblem::angles() const {
  if (cos_ != nullptr) return {.cos = cos_->view(), .sin = sin_->view()};
  return {.positions = view_of(positions_),
          .first_position = spec_.first_position,
          .theta = spec_.theta,
          .freq_factors = view_of(freq_factors_),
          .frequency_dim = spec_.frequency_dim};
}

int64_t RopeProblem::position(int64_t token) const {
  if (positions_ == nullptr) return spec_.first_position + token;
  return static_cast<int64_t>(positions_->at(token));
}

RopeProblem::Angle RopeProblem::exact_angle(int64_t token, int64_t pair) const {
  const int64_t dim = spec_.frequency_dim > 0 ? spec_.frequency_dim : spec_.head_dim;
  const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(dim);
  double angle = static_cast<double>(position(token)) * std::pow(double{spec_.theta}, exponent);
  if (freq_factors_ != nullptr) angle /= freq_factors_->at(pair);
  return {.cos = std::cos(angle), .sin = std::sin(angle)};
}

const std::vector<RopeProblem::Angle>& RopeProblem::angles_of(int64_t token) const {
  if (token == angles_token_) return angles_;
  angles_token_ = token;
  angles_.clear();
  for (int64_t pair = 0; pair < spec_.pairs(); ++pair) {
    const int64_t at = token * spec_.pairs() + pair;
    angles_.push_back(spec_.cached ? Angle{.cos = cos_->at(at), .sin = sin_->at(at)}
                                   : exact_angle(token, pair));
  }
  return angles_;
}

std::vector<Expected> RopeProblem::rotated(std::span<const Expected> head, int64_t row,
                                           Direction direction) const {
  std::vector<Expected> result(head.begin(), head.end());
  const std::vector<Angle>& angles = angles_of(row / spec_.heads);
  const double angle_error = spec_.cached ? kCacheError : kAngleError;
  for (int64_t i = 0; i < spec_.pairs(); ++i) {
    const auto [at_a, at_b] = pair_of(spec_, i);
    const Expected& a = head[at_a];
    const Expected& b = head[at_b];
    const double cos = angles[static_cast<size_t>(i)].cos;
    const double sin =
        angles[static_cast<size_t>(i)].sin * (direction == Direction::forward ? 1 : -1);
    const double slack = a.slack + b.slack + angle_error * (a.magnitude + b.magnitude) + 2 * kTiny;
    result[at_a] = {.value = a.value * cos - b.value * sin,
                    .magnitude = a.magnitude * std::abs(cos) + b.magnitude * std::abs(sin),
                    .slack = slack};
    result[at_b] = {.value = a.value * sin + b.value * cos,
                    .magnitude = a.magnitude * std::abs(sin) + b.magnitude * std::abs(cos),
                    .slack = slack};
  }
  return result;
}

Result<void> HeadMapProblem::prepare_heads(std::string input_name, std::string output_name) {
  const Role role = spec_.in_place ? Role::in_place : Role::input;
  const Shape shape = spec_.shape();
  NORITE_TRY_ASSIGN(in_, input(std::move(input_name), spec_.dtype, shape, layout(), {}, role));
  out_ = in_;
  if (!spec_.in_place) {
    NORITE_TRY_ASSIGN(out_, output(std::move(output_name), spec_.dtype, shape, layout()));
  }
  if (spec_.copy == RopeSpec::Copy::none) return {};
  Layout copy_layout;
  if (spec_.copy == RopeSpec::Copy::permuted) copy_layout.order = {1, 0, 2};
  NORITE_TRY_ASSIGN(copy_, output("copy", spec_.copy_dtype, shape, copy_layout));
  return {};
}

Result<void> HeadMapProblem::compare(Comparison& comparison) const {
  for (const Tensor* output : {out_, copy_}) {
    if (output == nullptr) continue;
    NORITE_TRY_ASSIGN(const Snapshot got, output->snapshot());
    const double allowed = tolerance(output->view().dtype(), terms());
    for (const int64_t row : checked_rows(*in_)) {
      comparison.elements(*output, got, row * spec_.head_dim, expected_head(row), allowed);
    }
  }
  return {};
}

}  // namespace norite::cases
