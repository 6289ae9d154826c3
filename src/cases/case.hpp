// SPDX-License-Identifier: MIT
// The case table: one list of problems that drives the tests, `norite verify`, `norite bench`,
// `norite demo` and the support table.
#pragma once

#include "cases/problem.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace norite::cases {

/// What one run has to move and compute at least: every operand once, as if caches were perfect.
struct Work {
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
  int64_t flops = 0;

  [[nodiscard]] int64_t bytes() const { return bytes_read + bytes_written; }
};

// Suites: where a case is used. A case may be in several; they are bits of one mask.
inline constexpr unsigned kVerify = 1;      ///< small: every size and option
inline constexpr unsigned kBench = 2;       ///< buffers beyond the caches, and a few within them
inline constexpr unsigned kDemo = 4;        ///< shapes of real models
inline constexpr unsigned kLarge = 8;       ///< more than 2^31 elements
inline constexpr unsigned kBenchGpu = 16;   ///< kBench for GPUs, which are faster and start slower
inline constexpr unsigned kVerifyGpu = 32;  ///< beside kVerify: what only GPUs have kernels for

/// Which bandwidth bounds an operation.
enum class Roof : uint8_t { copy, read };

using Prepare = std::function<Result<std::unique_ptr<Problem>>(const Device&, FillKind)>;

struct Case {
  std::string op;
  std::string name;   ///< "rms_norm[bf16,rows=3,dim=4097,one_plus]": also the filter's text
  std::string model;  ///< for kDemo: whose shape it is
  DType dtype = DType::f32;
  Shape shape;
  Work work;
  unsigned suites = kVerify;
  Roof roof = Roof::copy;
  /// Makes the tensors. An error of Code::unsupported means: skip, and its message says why.
  Prepare prepare;
};

/// Prepares only on devices with that much memory; elsewhere the case is skipped.
Prepare require_memory(int64_t bytes, Prepare prepare);

/// The suites that a device is verified with.
unsigned verify_suites(const Device& device);

/// Every case, grouped by operation.
const std::vector<Case>& all_cases();
/// The operations that have cases, sorted.
std::vector<std::string> operations();
/// The cases of any of these suites whose name contains `filter`.
std::vector<const Case*> select(unsigned suites, std::string_view filter);
/// The cases of any of these suites of one operation.
std::vector<const Case*> of_operation(unsigned suites, std::string_view op);

}  // namespace norite::cases
