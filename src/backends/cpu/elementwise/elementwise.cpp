// SPDX-License-Identifier: MIT
// All elementwise operations. A task walks its elements in tiles; each goes through the functions
// of the kernel in whole blocks. Elements that do not lie side by side, and what is less than a
// block, pass through tiles of their own in the L1 cache. Memory is read once and written once.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/elementwise/elementwise.cpp"
#include <hwy/foreach_target.h>  // must come before highway.h

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "backends/cpu/elementwise/chain-inl.h"
#include "backends/cpu/kernels.hpp"
#include "backends/cpu/rows.hpp"
#include "backends/cpu/simd/blocks-inl.h"
#include "backends/cpu/simd/dispatch.hpp"
#include "backends/cpu/streaming.hpp"

HWY_BEFORE_NAMESPACE();
namespace norite::cpu::HWY_NAMESPACE {

constexpr int64_t kTile = 1024;  // elements of a scratch tile, a multiple of every block

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

template <class B>
class Elementwise {
 public:
  explicit Elementwise(const NativeCall& call)
      : params_(call.constants<ElementwiseParams>(kElementwiseParams)),
        count_(row_count(params_.rows) * params_.dim),
        chain_(params_, call.view(kElementwiseIn0).dtype(), call.view(kElementwiseOut0).dtype()) {
    for (int k = 0; k < kMaxInputs; ++k) in_[k] = operand(call, kElementwiseIn0 + k);
    for (int k = 0; k < kMaxOutputs; ++k) out_[k] = operand(call, kElementwiseOut0 + k);
    const auto lies_side_by_side = [](const Operand& o) { return !o.first || o.strides.step == 1; };
    side_by_side_ = std::all_of(in_, in_ + kMaxInputs, lies_side_by_side) &&
                    std::all_of(out_, out_ + kMaxOutputs, lies_side_by_side);
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
      int64_t length = std::min(params_.dim - column, end - at);
      if (!side_by_side_) length = std::min(length, kTile);  // else only a rest is gathered
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
      streaming = streaming && direct && is_aligned(to[k]);
    }
    const int64_t padded = (length + kBlock - 1) / kBlock * kBlock;
    chain_.run(in, out, padded, streaming);
    for (int k = 0; k < kMaxOutputs; ++k) {
      if (out[k] != to[k]) out_[k].scatter(scratch.out[k], to[k], length);
    }
  }

  const ElementwiseParams& params_;
  const int64_t count_;
  const Chain<B> chain_;
  Operand in_[kMaxInputs], out_[kMaxOutputs];
  bool side_by_side_ = false;  // the elements of a row, in all operands
  bool streaming_ = false;
};

template <class B>
Result<void> run_elementwise(const NativeCall& call) {
  Elementwise<B>(call).run(call);
  return {};
}

Result<void> ElementwiseKernel(const NativeCall& call) { return run_elementwise<BF16>(call); }
Result<void> ElementwiseBF16Kernel(const NativeCall& call) {
  return run_elementwise<NativeBF16>(call);
}

}  // namespace norite::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace norite::cpu {

HWY_EXPORT(ElementwiseKernel);
HWY_EXPORT(ElementwiseBF16Kernel);

KernelFunction elementwise(const Processor& processor) {
  return NORITE_SIMD_SELECT_BF16(ElementwiseKernel, ElementwiseBF16Kernel, processor.level);
}

}  // namespace norite::cpu
#endif
