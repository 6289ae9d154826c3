// SPDX-License-Identifier: MIT
#include "prop/graph_reference.hpp"

#include "cases/comparison.hpp"
#include "cases/elementwise_reference.hpp"
#include "cases/norm.hpp"
#include "cases/rope.hpp"

#include <algorithm>
#include <limits>
#include <span>

namespace norite::test {
namespace {

using cases::kTiny;

Bounded operator+(const Bounded& a, const Bounded& b) {
  return {a.value + b.value, a.error + b.error};
}
Bounded operator-(const Bounded& a, const Bounded& b) {
  return {a.value - b.value, a.error + b.error};
}
Bounded operator*(const Bounded& a, const Bounded& b) {
  return {a.value * b.value,
          std::abs(a.value) * b.error + std::abs(b.value) * a.error + a.error * b.error};
}

/// A function whose slope is nowhere steeper.
Bounded function(double value, double steepest, const Bounded& x) {
  return {value, steepest * x.error};
}
Bounded silu(const Bounded& x) { return function(cases::silu_at(x.value).value.value, 1.1, x); }
Bounded gelu(const Bounded& x) { return function(cases::gelu_at(x.value).value.value, 1.13, x); }

/// The result of one operation over sums of `terms` terms, as it is stored.
class Stored {
 public:
  Stored(DType dtype, int64_t terms) : dtype_(dtype), tolerance_(cases::tolerance(dtype, terms)) {}

  /// `magnitude` is the sum of the absolute values of the terms, as in the cases; `enlarged` is
  /// what becomes of a loss below the normal range of f32.
  [[nodiscard]] Bounded operator()(Bounded result, double magnitude, double enlarged = 1) const {
    result.error += tolerance_ * magnitude + cases::subnormal_step(dtype_) + kTiny * (1 + enlarged);
    const double limit = dtype_ == DType::f16 ? 60000 : 1e15;
    const bool in_range = result.size() < limit;  // not where the size is no number
    return in_range ? result : Bounded{0, std::numeric_limits<double>::infinity()};
  }

 private:
  DType dtype_;
  double tolerance_;
};

/// A row over its root mean square.
struct Normalised {
  explicit Normalised(std::span<const Bounded> x) {
    const auto count = static_cast<double>(x.size());
    double squares = 0, errors = 0;
    for (const Bounded& one : x) {
      squares += one.value * one.value;
      errors += one.error * one.error;
    }
    // The root is the length of a vector: it changes by no more than the vector does.
    const double root = std::sqrt(squares / count + double{kEps});
    const double change = std::sqrt(errors / count);
    const double least = std::max(root - change, std::sqrt(double{kEps}));
    r = {1 / root, change / (root * least)};
    for (const Bounded& one : x) {
      const double error = (one.error + std::abs(one.value) * change / root) / least;
      // No element of such a row is longer than the row.
      const double farthest = 2 * std::sqrt(count);
      y.push_back({one.value / root, std::isfinite(change) ? std::min(error, farthest) : change});
    }
  }

  Bounded r;
  Rows y;
};

Rows norm(std::span<const Bounded> x, const Stored& stored) {
  Rows result;
  for (const Bounded& y : Normalised(x).y) result.push_back(stored(y, y.size()));
  return result;
}

Rows norm_mul(std::span<const Bounded> x, std::span<const Bounded> scale, const Stored& stored) {
  const Normalised normalised(x);
  Rows result;
  for (size_t i = 0; i < x.size(); ++i) {
    const Bounded& y = normalised.y[i];
    result.push_back(stored(y * scale[i], y.size() * scale[i].size(), scale[i].size()));
  }
  return result;
}

/// r (dy − y · mean(dy · y)), with y = x · r.
Rows norm_backward(std::span<const Bounded> x, std::span<const Bounded> dy, const Stored& stored) {
  const auto [r, y] = Normalised(x);
  const Bounded share{1 / static_cast<double>(x.size()), 0};
  Bounded mean;
  double magnitude = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    mean = mean + dy[i] * y[i] * share;
    magnitude += dy[i].size() * y[i].size() * share.value;
  }
  Rows result;
  for (size_t i = 0; i < x.size(); ++i) {
    result.push_back(stored(r * (dy[i] - y[i] * mean),
                            r.size() * (dy[i].size() + y[i].size() * magnitude),
                            r.size() * (1 + x[i].size())));
  }
  return result;
}

/// Halves are pairs, turned by position * theta^(-2 pair / dim).
Rows rope(std::span<const Bounded> x, size_t position, const Stored& stored) {
  const size_t pairs = x.size() / 2;
  Rows result(x.begin(), x.end());
  for (size_t i = 0; i < pairs; ++i) {
    const double exponent = -static_cast<double>(i) / static_cast<double>(pairs);
    const double angle = static_cast<double>(position) * std::pow(double{kTheta}, exponent);
    const Bounded cos{std::cos(angle), cases::kAngleError},
        sin{std::sin(angle), cases::kAngleError};
    const Bounded &a = x[i], &b = x[i + pairs];
    const double magnitude = a.size() + b.size();
    result[i] = stored(a * cos - b * sin, magnitude);
    result[i + pairs] = stored(b * cos + a * sin, magnitude);
  }
  return result;
}

Bounded elementwise(Operation operation, const Bounded& a, const Bounded& b, const Stored& stored) {
  switch (operation) {
    case Operation::add:
      return stored(a + b, a.size() + b.size());
    case Operation::mul:
      return stored(a * b, a.size() * b.size());
    case Operation::scale: {
      const Bounded factor{double{kScaleFactor}, 0};
      return stored(a * factor, a.size() * factor.value);
    }
    case Operation::silu:
      return stored(silu(a), silu(a).size());
    default: {
      const Bounded gate = gelu(a);
      return stored(gate * b, gate.size() * b.size(), b.size());
    }
  }
}

}  // namespace

Rows reference(Operation operation, const Rows& a, const Rows& b, int64_t dim, DType dtype) {
  const auto columns = static_cast<size_t>(dim);
  const Stored sums(dtype, dim), single(dtype, 1);
  Rows result;
  for (size_t first = 0; first < a.size(); first += columns) {
    const auto row = std::span(a).subspan(first, columns),
               other = std::span(b).subspan(first, columns);
    Rows made;
    if (operation == Operation::norm) {
      made = norm(row, sums);
    } else if (operation == Operation::norm_mul) {
      made = norm_mul(row, other, sums);
    } else if (operation == Operation::norm_backward) {
      made = norm_backward(row, other, sums);
    } else if (operation == Operation::rope) {
      made = rope(row, first / columns, single);
    } else {
      for (size_t i = 0; i < columns; ++i) {
        made.push_back(elementwise(operation, row[i], other[i], single));
      }
    }
    result.insert(result.end(), made.begin(), made.end());
  }
  return result;
}

}  // namespace norite::test
