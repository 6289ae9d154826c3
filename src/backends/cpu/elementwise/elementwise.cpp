// SPDX-License-Identifier: MIT
// All elementwise operations. A task walks its elements in tiles; each goes through one function
// that is compiled for whole blocks of a dtype. Elements that do not lie side by side, and what is
// less than a block, pass through tiles of their own in the L1 cache. Memory is read once and
// written once.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/elementwise.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "backends/cpu/elementwise/functions-inl.h"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/rows.hpp"
#include "backends/cpu/simd/blocks-inl.h"
#include "backends/cpu/simd/dispatch.hpp"
#include "backends/cpu/streaming.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

constexpr int64_t kTile = 1024;  // elements, a multiple of every block
constexpr int64_t kBlock = static_cast<int64_t>(block());
constexpr int kMaxInputs = kElementwiseOut0 - kElementwiseIn0;
constexpr int kMaxOutputs = kElementwiseParams - kElementwiseOut0;

/// A function over whole blocks whose elements lie side by side; an output that is nullptr is not
/// wanted. Streaming needs outputs that are aligned to a vector.
using TileFunction = void (*)(float scalar, const void* const* in, void* const* out, int64_t count,
                              bool streaming);

template <class E>
HWY_INLINE void write_block(Block v, typename E::Raw* to, bool streaming) {
  const auto bits = E::pack(v);
  streaming ? E::template write<Store::streaming>(bits, to)
            : E::template write<Store::cached>(bits, to);
}

template <class F, class E>
void apply_to_tile(float scalar, const void* const* in, void* const* out, int64_t count,
                   bool streaming) {
  using Raw = typename E::Raw;
  const VF c = hn::Set(DF(), scalar);
  const bool all_outputs = out[F::kOutputs - 1] != nullptr;
  for (int64_t i = 0; i < count; i += kBlock) {
    VF a[F::kInputs], b[F::kInputs], y_a[F::kOutputs], y_b[F::kOutputs];
    for (int k = 0; k < F::kInputs; ++k) {
      const Block x = E::load(static_cast<const Raw*>(in[k]) + i);
      a[k] = x.a, b[k] = x.b;
    }
    F::apply(c, a, y_a);
    F::apply(c, b, y_b);
    write_block<E>({y_a[0], y_b[0]}, static_cast<Raw*>(out[0]) + i, streaming);
    if (F::kOutputs > 1 && all_outputs) {
      constexpr int kLast = F::kOutputs - 1;
      write_block<E>({y_a[kLast], y_b[kLast]}, static_cast<Raw*>(out[kLast]) + i, streaming);
    }
  }
}

/// From one dtype to another, whose blocks may be in another order.
template <class From, class To>
void convert_tile(float, const void* const* in, void* const* out, int64_t count, bool streaming) {
  const auto* from = static_cast<const typename From::Raw*>(in[0]);
  auto* to = static_cast<typename To::Raw*>(out[0]);
  for (int64_t i = 0; i < count; i += kBlock) {
    Block v = From::load(from + i);
    if constexpr (!std::is_same_v<From, To>) {
      HWY_ALIGN float plain[block()];
      From::store_f32(v, plain);
      v = To::load_f32(plain);
    }
    write_block<To>(v, to + i, streaming);
  }
}

TileFunction tile_function(uint32_t function, DType in, DType out) {
  TileFunction result = nullptr;
  with_element(in, [&](auto element) {
    using E = decltype(element);
    with_function(function, [&](auto f) {
      using F = decltype(f);
      if constexpr (std::is_same_v<F, CopyElement>) {
        with_element(out, [&](auto other) { result = convert_tile<E, decltype(other)>; });
      } else {
        result = apply_to_tile<F, E>;
      }
    });
  });
  return result;
}

/// What a step of a chain reads and writes: values of the chain's dtype, or f32 of other steps,
/// which are never seen elsewhere and lie as blocks of the dtype do, so that none is put in order.
struct StepData {
  const void* in[kMaxInputs];
  bool in_f32[kMaxInputs];
  void* out;
  bool out_f32;
};

using StepFunction = void (*)(float scalar, const StepData& data, int64_t count, bool streaming);

/// One step over whole blocks, of which the first output counts.
template <class F, class E>
void apply_step(float scalar, const StepData& data, int64_t count, bool streaming) {
  using Raw = typename E::Raw;
  const StepData own = data;  // which no store can change: addresses stay in registers
  const VF c = hn::Set(DF(), scalar);
  for (int64_t i = 0; i < count; i += kBlock) {
    VF a[F::kInputs], b[F::kInputs], y_a[F::kOutputs], y_b[F::kOutputs];
    for (int k = 0; k < F::kInputs; ++k) {
      const Block x = own.in_f32[k] ? F32::load(static_cast<const float*>(own.in[k]) + i)
                                    : E::load(static_cast<const Raw*>(own.in[k]) + i);
      a[k] = x.a, b[k] = x.b;
    }
    F::apply(c, a, y_a);
    F::apply(c, b, y_b);
    if (own.out_f32) {
      F32::store_f32({y_a[0], y_b[0]}, static_cast<float*>(own.out) + i);
    } else {
      write_block<E>({y_a[0], y_b[0]}, static_cast<Raw*>(own.out) + i, streaming);
    }
  }
}

/// What the last step of a chain in one dtype left, to another.
template <class From, class To>
void convert_results(const float* from, void* to, int64_t count, bool streaming) {
  for (int64_t i = 0; i < count; i += kBlock) {
    HWY_ALIGN float plain[block()];
    From::store_f32(F32::load(from + i), plain);
    write_block<To>(To::load_f32(plain), static_cast<typename To::Raw*>(to) + i, streaming);
  }
}

using ConvertFunction = void (*)(const float* from, void* to, int64_t count, bool streaming);

ConvertFunction convert_function(DType from, DType to) {
  ConvertFunction result = nullptr;
  with_element(from, [&](auto one) {
    with_element(to, [&](auto other) { result = convert_results<decltype(one), decltype(other)>; });
  });
  return result;
}

StepFunction step_function(uint32_t function, DType dtype) {
  StepFunction result = nullptr;
  with_element(dtype, [&](auto element) {
    using E = decltype(element);
    with_function(function, [&](auto f) { result = apply_step<decltype(f), E>; });
  });
  return result;
}

/// Several functions, one after another on tiles that stay in the L1 cache.
class Chain {
 public:
  Chain(const ElementwiseParams& params, DType in, DType out)
      : params_(params), in_bytes_(size_of(in)), out_bytes_(size_of(out)) {
    for (uint32_t i = 0; i < params.steps; ++i) {
      steps_[i] = step_function(params.chain[i].function, in);
    }
    if (in != out) convert_ = convert_function(in, out);
  }

  /// As a TileFunction.
  void run(const void* const* in, void* const* out, int64_t count, bool streaming) const {
    HWY_ALIGN float results[kElementwiseMostSteps][kChainTile];
    for (int64_t at = 0; at < count; at += kChainTile) {
      const int64_t length = std::min(kChainTile, count - at);
      void* const to = static_cast<std::byte*>(out[0]) + at * out_bytes_;
      for (uint32_t i = 0; i < params_.steps; ++i) {
        const bool writes_out = i + 1 == params_.steps && convert_ == nullptr;
        StepData data{.in = {}, .in_f32 = {}, .out = results[i], .out_f32 = !writes_out};
        if (writes_out) data.out = to;
        for (int k = 0; k < kMaxInputs; ++k) {
          const uint32_t source = params_.chain[i].inputs >> 4 * k & 15;
          data.in_f32[k] = source >= kMaxInputs;
          data.in[k] = data.in_f32[k] ? static_cast<const void*>(results[source - kMaxInputs])
                                      : static_cast<const std::byte*>(in[source]) + at * in_bytes_;
        }
        steps_[i](params_.chain[i].scalar, data, length, streaming);
      }
      if (convert_ != nullptr) convert_(results[params_.steps - 1], to, length, streaming);
    }
  }

 private:
  static constexpr int64_t kChainTile = 256;  // elements, a multiple of every block

  const ElementwiseParams& params_;
  StepFunction steps_[kElementwiseMostSteps] = {};
  ConvertFunction convert_ = nullptr;  // where the output has another dtype
  int64_t in_bytes_, out_bytes_;
};

template <class T>
void copy_strided(const void* from, int64_t from_step, void* to, int64_t to_step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    static_cast<T*>(to)[i * to_step] = static_cast<const T*>(from)[i * from_step];
  }
}

/// An operand at its first element.
struct Operand {
  std::byte* first = nullptr;  // nullptr: absent
  int64_t element_bytes = 0;
  ElementwiseStrides strides = {};

  [[nodiscard]] std::byte* at(const RowDims& rows, int64_t row, int64_t column) const {
    return first + (row_offset(rows, strides.rows, row) + column * strides.step) * element_bytes;
  }
  /// Elements from here on to a tile, padded with zeros to whole blocks.
  void gather(const std::byte* from, int64_t count, std::byte* tile) const {
    const auto copy = element_bytes == 4 ? copy_strided<uint32_t> : copy_strided<uint16_t>;
    copy(from, strides.step, tile, 1, count);
    const int64_t padding = (kBlock - count % kBlock) % kBlock;
    std::memset(tile + count * element_bytes, 0, static_cast<size_t>(padding * element_bytes));
  }
  void scatter(const std::byte* tile, std::byte* to, int64_t count) const {
    const auto copy = element_bytes == 4 ? copy_strided<uint32_t> : copy_strided<uint16_t>;
    copy(tile, 1, to, strides.step, count);
  }
};

class Elementwise {
 public:
  explicit Elementwise(const NativeCall& call)
      : params_(call.constants<ElementwiseParams>(kElementwiseParams)),
        count_(row_count(params_.rows) * params_.dim),
        function_(tile_function(params_.chain[0].function, call.view(kElementwiseIn0).dtype(),
                                call.view(kElementwiseOut0).dtype())) {
    if (params_.steps > 1) {
      chain_.emplace(params_, call.view(kElementwiseIn0).dtype(),
                     call.view(kElementwiseOut0).dtype());
    }
    for (int k = 0; k < kMaxInputs; ++k) in_[k] = operand(call, kElementwiseIn0 + k);
    for (int k = 0; k < kMaxOutputs; ++k) out_[k] = operand(call, kElementwiseOut0 + k);
    streaming_ = count_ * out_[0].element_bytes >= kStreamBytes;
    for (const Operand& in : in_) {
      for (const Operand& out : out_) {  // in place, the line is in the cache already
        if (in.first != nullptr && in.first == out.first) streaming_ = false;
      }
    }
  }

  void run(const NativeCall& call) const {
    call.parallel_for(count_, rows_per_task(out_[0].element_bytes),
                      [this](int64_t begin, int64_t end) { run_elements(begin, end); });
  }

 private:
  struct Scratch {
    HWY_ALIGN std::byte in[kMaxInputs][kTile * sizeof(float)];
    HWY_ALIGN std::byte out[kMaxOutputs][kTile * sizeof(float)];
  };

  Operand operand(const NativeCall& call, int position) const {
    const auto index = static_cast<size_t>(position);
    return {.first = call.data<std::byte>(index),
            .element_bytes = size_of(call.view(index).dtype()),
            .strides = params_.operands[position]};
  }

  /// Elements [begin, end), counted row by row.
  void run_elements(int64_t begin, int64_t end) const {
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
    const bool whole = length % kBlock == 0;
    const void* in[kMaxInputs] = {};
    void* out[kMaxOutputs] = {};
    for (int k = 0; k < kMaxInputs && in_[k].first; ++k) {
      std::byte* const from = in_[k].at(params_.rows, row, column);
      const bool direct = whole && in_[k].strides.step == 1;
      if (!direct) in_[k].gather(from, length, scratch.in[k]);
      in[k] = direct ? from : scratch.in[k];
    }
    std::byte* to[kMaxOutputs] = {};
    bool streaming = streaming_;
    for (int k = 0; k < kMaxOutputs && out_[k].first; ++k) {
      to[k] = out_[k].at(params_.rows, row, column);
      const bool direct = whole && out_[k].strides.step == 1;
      out[k] = direct ? to[k] : scratch.out[k];
      streaming = streaming && direct &&
                  reinterpret_cast<uintptr_t>(to[k]) % (lanes() * sizeof(float)) == 0;
    }
    const int64_t padded = (length + kBlock - 1) / kBlock * kBlock;
    if (chain_) {
      chain_->run(in, out, padded, streaming);
    } else {
      function_(params_.chain[0].scalar, in, out, padded, streaming);
    }
    for (int k = 0; k < kMaxOutputs; ++k) {
      if (out[k] != to[k]) out_[k].scatter(scratch.out[k], to[k], length);
    }
  }

  const ElementwiseParams& params_;
  const int64_t count_;
  const TileFunction function_;  // of a single step
  std::optional<Chain> chain_;   // of several
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
