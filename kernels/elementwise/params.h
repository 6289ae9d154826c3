// SPDX-License-Identifier: MIT
// Constants of the elementwise kernel, read by the host and by every backend's kernels.
#pragma once

#include "common/rows.h"

/// What is computed of each element. Inputs come in the order that is written here, then outputs;
/// `c` is the operation's scalar.
enum ElementwiseFunction {
  kElementwiseCopy,                  // (x) -> x
  kElementwiseScale,                 // (x) -> c * x
  kElementwiseAdd,                   // (a, b) -> a + b
  kElementwiseMul,                   // (a, b) -> a * b
  kElementwiseMulBackward,           // (dy, a, b) -> dy * b, dy * a
  kElementwiseSilu,                  // (x) -> silu(x) = x / (1 + exp(-x))
  kElementwiseSiluBackward,          // (dy, x) -> dy * silu'(x)
  kElementwiseSiluMul,               // (a, b) -> silu(a) * b
  kElementwiseSiluMulBackward,       // (dy, a, b) -> dy * b * silu'(a), dy * silu(a)
  kElementwiseGelu,                  // the same four of x * Phi(x), the normal distribution's
  kElementwiseGeluBackward,
  kElementwiseGeluMul,
  kElementwiseGeluMulBackward,
  kElementwiseGeluTanh,              // and of its approximation by tanh
  kElementwiseGeluTanhBackward,
  kElementwiseGeluTanhMul,
  kElementwiseGeluTanhMulBackward,
  kElementwiseSoftcap,               // (x) -> c * tanh(x / c)
  kElementwiseSoftcapBackward,       // (dy, x) -> dy * (1 - tanh(x / c)^2)
};

/// Inputs first, then outputs; what a function does not have is absent. The second output is
/// optional.
enum ElementwiseArgument {
  kElementwiseIn0,
  kElementwiseIn1,
  kElementwiseIn2,
  kElementwiseOut0,
  kElementwiseOut1,
  kElementwiseParams,
};

/// How an operand lies: the distance of rows, and of neighbours in a row, in elements.
struct ElementwiseStrides {
  RowStrides rows;
  int64_t step;
};

enum { kElementwiseMostSteps = 8 };

/// One function of a chain.
struct ElementwiseStep {
  uint32_t function;  // ElementwiseFunction
  /// Four bits for each input: 0, 1, 2 are the kernel's, kElementwiseOut0 + n is the result of step
  /// n, in f32.
  uint32_t inputs;
  float scalar;
};

/// An operation is a chain of one step. The last step gives the outputs, rounded once.
struct ElementwiseParams {
  RowDims rows;
  int64_t dim;
  ElementwiseStrides operands[kElementwiseParams];  // by ElementwiseArgument
  uint32_t steps;
  ElementwiseStep chain[kElementwiseMostSteps];
  uint32_t pad;
};
