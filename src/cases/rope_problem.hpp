// SPDX-License-Identifier: MIT
#pragma once

#include "cases/norm_problem.hpp"
#include "cases/rope.hpp"

namespace norite::cases {

enum class Direction : uint8_t { forward, backward };

/// A problem with a rotation: positions, frequency factors or caches, and what they do to a head.
class RopeProblem : public Problem {
 public:
  RopeProblem(const RopeSpec& spec, const Device& device, Data data)
      : Problem(device, std::move(data)), spec_(spec) {}

 protected:
  Result<void> prepare_angles();
  /// The weight of the norm, where the spec has one.
  Result<void> prepare_weight();
  [[nodiscard]] ops::RopeAngles angles() const;
  [[nodiscard]] Layout layout() const { return {.row_gap = spec_.strided ? kRowGap : 0}; }

  /// A head after its rotation. Rows count token-major: row = token · heads + head.
  [[nodiscard]] std::vector<Expected> rotated(std::span<const Expected> head, int64_t row,
                                              Direction direction) const;

  RopeSpec spec_;
  const Tensor* weight_ = nullptr;

 private:
  struct Angle {
    double cos = 1;
    double sin = 0;
  };

  Result<void> prepare_positions();
  Result<void> prepare_caches();
  [[nodiscard]] int64_t position(int64_t token) const;
  [[nodiscard]] Angle exact_angle(int64_t token, int64_t pair) const;
  [[nodiscard]] const std::vector<Angle>& angles_of(int64_t token) const;

  const Tensor* positions_ = nullptr;
  const Tensor* freq_factors_ = nullptr;
  const Tensor* cos_ = nullptr;
  const Tensor* sin_ = nullptr;
  mutable int64_t angles_token_ = -1;  ///< the token that angles_ belong to
  mutable std::vector<Angle> angles_;  ///< one token's, kept for its other heads
};

/// One [tokens, heads, head_dim] tensor in, one of the same shape out, and perhaps a copy of it.
class HeadMapProblem : public RopeProblem {
 public:
  using RopeProblem::RopeProblem;

 protected:
  Result<void> prepare_heads(std::string input_name, std::string output_name);
  /// What the operation makes of a head.
  [[nodiscard]] virtual std::vector<Expected> expected_head(int64_t row) const = 0;
  /// f32 terms that an element depends on.
  [[nodiscard]] virtual int64_t terms() const = 0;
  Result<void> compare(Comparison& comparison) const override;

  const Tensor* in_ = nullptr;
  const Tensor* out_ = nullptr;  ///< in_ itself when in place
  const Tensor* copy_ = nullptr;
};

}  // namespace norite::cases
