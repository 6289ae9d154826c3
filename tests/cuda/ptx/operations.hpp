// SPDX-License-Identifier: MIT
// What executes an instruction, chosen by its name. An operation without a handler is not known.
#pragma once

#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda/ptx/kernel.hpp"
#include "cuda/ptx/machine.hpp"
#include "cuda/ptx/text.hpp"

namespace norite::ptx {

/// A handler, and the bytes of the registers that it takes, its result first. 0 is a predicate.
struct Operation {
  Handler* run = nullptr;
  std::vector<size_t> bytes;
};

Operation arithmetic(const Statement& statement);
Operation float_arithmetic(const Statement& statement);
Operation conversion(const Statement& statement);
Operation predicate_operation(const Statement& statement);
/// Loads, stores, atomics and copies name their registers in an order of their own (access.cpp).
Handler* access(const Statement& statement, size_t register_bytes);
Handler* meeting(const Statement& statement);
/// mov between a register and the list of those that have its parts.
Handler* packing(size_t whole_bytes, size_t part_bytes, bool unpack);

template <class F>
void for_lanes(Mask lanes, F f) {
  if (lanes == kAll) {
    for (unsigned lane = 0; lane < kLanes; ++lane) f(lane);
  } else {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if ((lanes >> lane & 1) != 0) f(lane);
    }
  }
}

template <class Op, class D, class... S, size_t... I>
void compute(Warp& warp, const Instruction& instruction, Mask lanes, std::index_sequence<I...>) {
  D* const result = warp.at<D>(instruction.at[0]);
  const auto sources = std::tuple(warp.at<S>(instruction.at[1 + I])...);
  for_lanes(lanes, [&](unsigned lane) { result[lane] = D(Op{}(std::get<I>(sources)[lane]...)); });
}

template <class Op, class D, class... S>
void run_each(Warp& warp, const Instruction& instruction, Mask lanes) {
  compute<Op, D, S...>(warp, instruction, lanes, std::index_sequence_for<S...>());
}

/// An operation of lanes, each by itself; `op` has no state.
template <class D, class... S, class Op>
Operation each(Op) {
  return {&run_each<Op, D, S...>, {sizeof(D), sizeof(S)...}};
}

/// f(T()) for the integer that a type stands for; f gives an Operation.
template <class F>
Operation of_integer(std::string_view type, F f) {
  if (type == "u16" || type == "b16") return f(uint16_t());
  if (type == "u32" || type == "b32") return f(uint32_t());
  if (type == "u64" || type == "b64") return f(uint64_t());
  if (type == "s16") return f(int16_t());
  if (type == "s32") return f(int32_t());
  if (type == "s64") return f(int64_t());
  return {};
}

/// f(T()) for the unsigned integer of so many bytes.
template <class F>
Handler* of_bytes(size_t bytes, F f) {
  if (bytes == 1) return f(uint8_t());
  if (bytes == 2) return f(uint16_t());
  if (bytes == 4) return f(uint32_t());
  if (bytes == 8) return f(uint64_t());
  return nullptr;
}

}  // namespace norite::ptx
