// SPDX-License-Identifier: MIT
// The steps of a kernel over one tile after another. What they hand over stays in registers where
// they are short, and in the L1 cache where not.
//
// Re-included for every target; no ordinary include guard.

#if defined(NORITE_CPU_ELEMENTWISE_CHAIN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef NORITE_CPU_ELEMENTWISE_CHAIN_INL_H
#undef NORITE_CPU_ELEMENTWISE_CHAIN_INL_H
#else
#define NORITE_CPU_ELEMENTWISE_CHAIN_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "backends/cpu/elementwise/stages-inl.h"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

/// The steps of a kernel as stages. B: BF16 or NativeBF16.
template <class B>
class Chain {
 public:
  Chain(const ElementwiseParams& params, DType in, DType out)
      : params_(params), in_bytes_(size_of(in)), out_bytes_(size_of(out)) {
    with_element<B>(in, [&](auto element) { plan<decltype(element)>(out, in != out); });
    for (int s = 0; s + 1 < stage_count_; ++s) look_ahead(s);
  }

  /// Over whole blocks whose elements lie side by side; an absent operand is nullptr. Streaming
  /// needs outputs that are aligned to a vector.
  void run(const void* const* in, void* const* out, int64_t count, bool streaming) const {
    HWY_ALIGN float tiles[kMaxSteps][kChainTile];
    TileData data;
    for (int k = 0; k < kMaxInputs; ++k) data.values[k].first = in[k];
    for (int s = 0; s + 1 < stage_count_; ++s) {
      const uint32_t step = stages_[s].result;
      data.values[kMaxInputs + step] = {tiles[s], true};
      data.results[step] = {tiles[s], Target::Kind::tile};
    }
    const auto kind = streaming ? Target::Kind::streaming : Target::Kind::cached;
    data.results[params_.steps - 1] = {out[0], kind};
    data.second_output = {out[1], kind};

    const int64_t most = stage_count_ == 1 ? count : kChainTile;
    for (int64_t at = 0; at < count; at += most) {
      const int64_t length = std::min(most, count - at);
      for (int s = 0; s < stage_count_; ++s) stages_[s].run(stages_[s], data, length);
      advance(data, length);
    }
  }

 private:
  static constexpr int64_t kChainTile = 512;  // elements, a multiple of every block

  void advance(TileData& data, int64_t count) const {
    for (int k = 0; k < kMaxInputs && data.values[k].first != nullptr; ++k) {
      const void*& first = data.values[k].first;
      first = static_cast<const std::byte*>(first) + count * in_bytes_;
    }
    for (Target* target : {&data.results[params_.steps - 1], &data.second_output}) {
      if (target->first == nullptr) continue;
      target->first = static_cast<std::byte*>(target->first) + count * out_bytes_;
    }
  }

  /// Stages on elements of E. Where the output has another dtype, the last step is its copy.
  template <class E>
  void plan(DType out, bool converts) {
    const uint32_t steps = params_.steps - (converts ? 1 : 0);
    if (steps == 1 && !converts && params_.chain[0].function == kElementwiseCopy) {
      add_stage(0).run = run_copy<E>;
      return;
    }
    for (uint32_t i = 0; i < steps; ++i) {
      const uint32_t own = params_.chain[i].function;
      const uint32_t function = i + 1 < steps ? with_product(i) : own;
      with_function(function, [&](auto f) {
        using F = decltype(f);
        if constexpr (F::kShort == Short::none) {
          add_stage(i).run = run_function<F, E>;
        } else {
          add_short(i, F::kShort).run = run_short<E>;
        }
      });
      if (function != own) multiply_last(++i);
    }
    if (!converts) return;
    with_element<B>(out, [&](auto to) { add_stage(steps).run = run_conversion<E, decltype(to)>; });
  }

  Stage& add_stage(uint32_t step) {
    Stage& stage = stages_[stage_count_++];
    for (int k = 0; k < kMaxInputs; ++k) stage.in[k] = input(step, k);
    stage.result = step;
    stage.scalar = params_.chain[step].scalar;
    return stage;
  }

  /// The step's function; where it is an activation that the next step multiplies, both as one, so
  /// that it need not go through a tile.
  [[nodiscard]] uint32_t with_product(uint32_t step) const {
    const uint32_t own = params_.chain[step].function;
    const bool multiplied = params_.chain[step + 1].function == kElementwiseMul && hands_over(step);
    if (!multiplied) return own;
    switch (own) {
      case kElementwiseSilu:
        return kElementwiseSiluMul;
      case kElementwiseGelu:
        return kElementwiseGeluMul;
      case kElementwiseGeluTanh:
        return kElementwiseGeluTanhMul;
      default:
        return own;
    }
  }
  /// The step is the product of the stage before it.
  void multiply_last(uint32_t step) {
    Stage& stage = stages_[stage_count_ - 1];
    stage.in[1] = input(step, input(step, 0) == kMaxInputs + step - 1 ? 1 : 0);
    stage.result = step;
  }

  /// The step in a stage of its own, or in that of the short step before if nothing else reads what
  /// that gives.
  Stage& add_short(uint32_t step, Short kind) {
    const uint32_t before = kMaxInputs + step - 1;
    const bool joins = step > 0 && is_short_[stage_count_ - 1] && hands_over(step - 1);
    Stage& stage = joins ? stages_[stage_count_ - 1] : add_stage(step);
    is_short_[stage_count_ - 1] = true;
    const uint32_t other = input(step, joins && input(step, 0) != before ? 0 : 1);
    if (kind != Short::copy) {
      stage.steps[stage.short_steps++] = {kind, other, params_.chain[step].scalar};
    }
    stage.result = step;
    return stage;
  }

  /// Memory that the next stage is the first to read arrives while this one computes.
  void look_ahead(int s) {
    uint32_t asked = 0;  // a bit for each input
    for (int before = 0; before <= s; ++before) asked |= memory_read_by(stages_[before]);
    const uint32_t wanted = memory_read_by(stages_[s + 1]) & ~asked;
    for (uint32_t k = 0; k < kMaxInputs; ++k) {
      if (wanted >> k & 1) stages_[s].ahead[stages_[s].aheads++] = k;
    }
  }

  /// A bit for each input of the kernel.
  static uint32_t memory_read_by(const Stage& stage) {
    uint32_t values = 1u << stage.in[0];
    if (stage.short_steps == 0) values |= 1u << stage.in[1] | 1u << stage.in[2];
    for (int i = 0; i < stage.short_steps; ++i) values |= 1u << stage.steps[i].other;
    return values & ((1u << kMaxInputs) - 1);
  }

  /// Which value a step reads; what it does not have reads as an input of the kernel.
  [[nodiscard]] uint32_t input(uint32_t step, int k) const {
    return params_.chain[step].inputs >> 4 * k & 15;
  }
  /// Whether the next step reads what this one gives, once and as the only one.
  [[nodiscard]] bool hands_over(uint32_t step) const {
    int uses = 0, uses_by_next = 0;
    for (uint32_t i = step + 1; i < params_.steps; ++i) {
      for (int k = 0; k < kMaxInputs; ++k) {
        const int use = input(i, k) == kMaxInputs + step ? 1 : 0;
        uses += use;
        uses_by_next += i == step + 1 ? use : 0;
      }
    }
    return uses == 1 && uses_by_next == 1;
  }

  const ElementwiseParams& params_;
  const int64_t in_bytes_, out_bytes_;
  Stage stages_[kMaxSteps] = {};
  bool is_short_[kMaxSteps] = {};  // by stage
  int stage_count_ = 0;
};

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // target toggle
