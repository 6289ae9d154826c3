// SPDX-License-Identifier: MIT
// Comparisons, selections, and operations of predicates.
#include <cstdint>
#include <string_view>

#include "cuda/ptx/operations.hpp"

namespace norite::ptx {

namespace {

template <class T, class Compare>
void compare(Warp& warp, const Instruction& instruction, Mask lanes) {
  Mask* const result = warp.at<Mask>(instruction.at[0]);
  const T* const a = warp.at<T>(instruction.at[1]);
  const T* const b = warp.at<T>(instruction.at[2]);
  Mask holds = 0;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    holds |= Mask{Compare{}(a[lane], b[lane])} << lane;
  }
  *result = (*result & ~lanes) | (holds & lanes);
}

template <class T, class Compare>
Operation comparison(Compare) {
  return {&compare<T, Compare>, {0, sizeof(T), sizeof(T)}};
}

/// As they are for integers; of floats, a NaN is neither less, nor greater, nor another number.
template <class T>
Operation ordered(std::string_view how) {
  if (how == "eq") return comparison<T>([](T a, T b) { return a == b; });
  if (how == "ne") return comparison<T>([](T a, T b) { return a < b || a > b; });
  if (how == "lt") return comparison<T>([](T a, T b) { return a < b; });
  if (how == "le") return comparison<T>([](T a, T b) { return a <= b; });
  if (how == "gt") return comparison<T>([](T a, T b) { return a > b; });
  if (how == "ge") return comparison<T>([](T a, T b) { return a >= b; });
  return {};
}

/// True of a NaN, too.
Operation unordered(std::string_view how) {
  using Float = float;
  if (how == "equ") return comparison<Float>([](Float a, Float b) { return !(a < b || a > b); });
  if (how == "neu") return comparison<Float>([](Float a, Float b) { return a != b; });
  if (how == "ltu") return comparison<Float>([](Float a, Float b) { return !(a >= b); });
  if (how == "leu") return comparison<Float>([](Float a, Float b) { return !(a > b); });
  if (how == "gtu") return comparison<Float>([](Float a, Float b) { return !(a <= b); });
  if (how == "geu") return comparison<Float>([](Float a, Float b) { return !(a < b); });
  if (how == "num") return comparison<Float>([](Float a, Float b) { return a == a && b == b; });
  if (how == "nan") return comparison<Float>([](Float a, Float b) { return a != a || b != b; });
  return ordered<Float>(how);
}

template <class T>
void select(Warp& warp, const Instruction& instruction, Mask lanes) {
  T* const result = warp.at<T>(instruction.at[0]);
  const T* const a = warp.at<T>(instruction.at[1]);
  const T* const b = warp.at<T>(instruction.at[2]);
  const Mask choice = *warp.at<Mask>(instruction.at[3]);
  for_lanes(lanes, [&](unsigned lane) { result[lane] = choice >> lane & 1 ? a[lane] : b[lane]; });
}

template <class Op>
void run_masks(Warp& warp, const Instruction& instruction, Mask lanes) {
  Mask* const result = warp.at<Mask>(instruction.at[0]);
  const Mask a = *warp.at<Mask>(instruction.at[1]), b = *warp.at<Mask>(instruction.at[2]);
  *result = (*result & ~lanes) | (Op{}(a, b) & lanes);
}

template <class Op>
Operation masks(Op, bool binary = true) {
  return {&run_masks<Op>, binary ? std::vector<size_t>{0, 0, 0} : std::vector<size_t>{0, 0}};
}

}  // namespace

Operation predicate_operation(const Statement& one) {
  const std::string &name = one.opcode[0], &type = one.opcode.back();
  if (name == "setp" && one.opcode.size() == 3) {
    if (type == "f32") return unordered(one.opcode[1]);
    return of_integer(type, [&]<class T>(T) { return ordered<T>(one.opcode[1]); });
  }
  if (name == "selp") {
    return of_integer(type == "f32" ? "b32" : type, []<class T>(T) -> Operation {
      return {&select<T>, {sizeof(T), sizeof(T), sizeof(T), 0}};
    });
  }
  if (type != "pred") return {};
  if (name == "and") return masks([](Mask a, Mask b) { return a & b; });
  if (name == "or") return masks([](Mask a, Mask b) { return a | b; });
  if (name == "xor") return masks([](Mask a, Mask b) { return a ^ b; });
  if (name == "not") return masks([](Mask a, Mask) { return ~a; }, false);
  if (name == "mov") return masks([](Mask a, Mask) { return a; }, false);
  return {};
}

}  // namespace norite::ptx
