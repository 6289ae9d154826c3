// SPDX-License-Identifier: MIT
// All elementwise operations. A task walks its elements in tiles that stay in the L1 cache: inputs
// become f32 there, the function turns tiles into tiles, and outputs are rounded on their way out.
// f32 needs no tile where it lies side by side. Memory is read once and written once.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/elementwise.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "backends/cpu/elementwise/functions-inl.h"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/rows.hpp"
#include "backends/cpu/simd/blocks-inl.h"
#include "backends/cpu/simd/dispatch.hpp"
#include "backends/cpu/streaming.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

constexpr int64_t kTile = 1024;  // elements, a multiple of every block
constexpr int kMaxInputs = kElementwiseOut0 - kElementwiseIn0;
constexpr int kMaxOutputs = kElementwiseParams - kElementwiseOut0;

/// A function over whole blocks of f32; an output that is nullptr is not wanted.
using TileFunction = void (*)(float scalar, const float* const* in, float* const* out,
                              int64_t count);

template <class F>
void apply_to_tile(float scalar, const float* const* in, float* const* out, int64_t count) {
  const VF c = hn::Set(DF(), scalar);
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(lanes())) {
    VF x[F::kInputs], y[F::kOutputs];
    for (int k = 0; k < F::kInputs; ++k) x[k] = hn::LoadU(DF(), in[k] + i);
    F::apply(c, x, y);
    hn::StoreU(y[0], DF(), out[0] + i);
    for (int k = 1; k < F::kOutputs; ++k) {
      if (out[k]) hn::StoreU(y[k], DF(), out[k] + i);
    }
  }
}

/// `count` elements that lie `step` apart, as f32.
template <class E>
void widen(const typename E::Raw* from, int64_t step, int64_t count, float* tile) {
  if (step == 1) {
    return for_blocks(count, [=](int64_t i, size_t part) HWY_ATTR {
      E::store_f32(load_part<E>(from + i, part), tile + i);
    });
  }
  for_blocks(count, [=](int64_t i, size_t part) HWY_ATTR {
    HWY_ALIGN typename E::Raw staged[block()] = {};
    for (size_t k = 0; k < part; ++k) staged[k] = from[(i + static_cast<int64_t>(k)) * step];
    E::store_f32(E::load(staged), tile + i);
  });
}

template <class E, Store kStore>
void narrow_side_by_side(const float* tile, typename E::Raw* to, int64_t count) {
  for_blocks(count, [=](int64_t i, size_t part)
                        HWY_ATTR { store_part<E, kStore>(E::load_f32(tile + i), to + i, part); });
}

template <class E>
void narrow(const float* tile, typename E::Raw* to, int64_t step, int64_t count, bool streaming) {
  const bool aligned = reinterpret_cast<uintptr_t>(to) % (lanes() * sizeof(float)) == 0;
  if (step == 1) {
    return streaming && aligned ? narrow_side_by_side<E, Store::streaming>(tile, to, count)
                                : narrow_side_by_side<E, Store::cached>(tile, to, count);
  }
  for_blocks(count, [=](int64_t i, size_t part) HWY_ATTR {
    HWY_ALIGN typename E::Raw staged[block()];
    E::template write<Store::cached>(E::pack(E::load_f32(tile + i)), staged);
    for (size_t k = 0; k < part; ++k) to[(i + static_cast<int64_t>(k)) * step] = staged[k];
  });
}

/// An operand at its first element.
struct Operand {
  std::byte* first = nullptr;  // nullptr: absent
  DType dtype = DType::f32;
  ElementwiseStrides strides = {};

  [[nodiscard]] bool is_plain() const { return dtype == DType::f32 && strides.step == 1; }
  [[nodiscard]] std::byte* at(int64_t offset) const { return first + offset * size_of(dtype); }
};

class Elementwise {
 public:
  explicit Elementwise(const NativeCall& call)
      : params_(call.constants<ElementwiseParams>(kElementwiseParams)),
        count_(row_count(params_.rows) * params_.dim) {
    with_function(params_.function, [&](auto function) {
      using F = decltype(function);
      function_ = apply_to_tile<F>;
      for (int k = 0; k < F::kInputs; ++k) in_[k] = operand(call, kElementwiseIn0 + k);
      for (int k = 0; k < F::kOutputs; ++k) out_[k] = operand(call, kElementwiseOut0 + k);
    });
    streaming_ = count_ * size_of(out_[0].dtype) >= kStreamBytes;
    for (const Operand& in : in_) {
      for (const Operand& out : out_) {  // in place, the line is in the cache already
        if (in.first != nullptr && in.first == out.first) streaming_ = false;
      }
    }
  }

  void run(const NativeCall& call) const {
    call.parallel_for(count_, rows_per_task(size_of(out_[0].dtype)),
                      [this](int64_t begin, int64_t end) { run_elements(begin, end); });
  }

 private:
  struct Scratch {
    HWY_ALIGN float in[kMaxInputs][kTile];
    HWY_ALIGN float out[kMaxOutputs][kTile];
  };

  Operand operand(const NativeCall& call, int position) const {
    return {.first = call.data<std::byte>(static_cast<size_t>(position)),
            .dtype = call.view(static_cast<size_t>(position)).dtype(),
            .strides = params_.operands[position]};
  }

  /// Elements [begin, end), counted row by row.
  void run_elements(int64_t begin, int64_t end) const {
    constexpr int64_t kBlock = static_cast<int64_t>(block());
    Scratch scratch;
    for (int64_t at = begin; at < end;) {
      const int64_t row = at / params_.dim;
      const int64_t column = at % params_.dim;
      int64_t length = std::min({params_.dim - column, end - at, kTile});
      if (length > kBlock) length -= length % kBlock;  // whole blocks first, then what is left
      run_tile(row, column, length, scratch);
      at += length;
    }
    if (streaming_) hwy::FlushStream();
  }

  void run_tile(int64_t row, int64_t column, int64_t length, Scratch& scratch) const {
    constexpr int64_t kBlock = static_cast<int64_t>(block());
    const bool whole = length % kBlock == 0;
    const auto position = [&](const Operand& operand) {
      return operand.at(row_offset(params_.rows, operand.strides.rows, row) +
                        column * operand.strides.step);
    };
    const float* in[kMaxInputs] = {};
    float* out[kMaxOutputs] = {};
    for (int k = 0; k < kMaxInputs && in_[k].first; ++k) {
      std::byte* const from = position(in_[k]);
      if (whole && in_[k].is_plain()) {
        in[k] = reinterpret_cast<const float*>(from);
        continue;
      }
      in[k] = scratch.in[k];
      with_element(in_[k].dtype, [&](auto element) {
        using E = decltype(element);
        widen<E>(reinterpret_cast<const typename E::Raw*>(from), in_[k].strides.step, length,
                 scratch.in[k]);
      });
    }
    const auto is_direct = [&](const Operand& to) { return whole && to.is_plain() && !streaming_; };
    for (int k = 0; k < kMaxOutputs; ++k) {
      if (!out_[k].first) continue;
      out[k] = is_direct(out_[k]) ? reinterpret_cast<float*>(position(out_[k])) : scratch.out[k];
    }
    function_(params_.scalar, in, out, (length + kBlock - 1) / kBlock * kBlock);
    for (int k = 0; k < kMaxOutputs; ++k) {
      if (!out_[k].first || is_direct(out_[k])) continue;
      std::byte* const to = position(out_[k]);
      with_element(out_[k].dtype, [&](auto element) {
        using E = decltype(element);
        narrow<E>(scratch.out[k], reinterpret_cast<typename E::Raw*>(to), out_[k].strides.step,
                  length, streaming_);
      });
    }
  }

  const ElementwiseParams& params_;
  const int64_t count_;
  TileFunction function_ = nullptr;
  Operand in_[kMaxInputs], out_[kMaxOutputs];
  bool streaming_ = false;
};

Result<void> ElementwiseKernel(const NativeCall& call) {
  Elementwise(call).run(call);
  return {};
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(ElementwiseKernel);

KernelFunction elementwise(const SimdLevel& level) {
  return NORITE_SIMD_SELECT(ElementwiseKernel, level);
}

}  // namespace norite::cpu
#endif
