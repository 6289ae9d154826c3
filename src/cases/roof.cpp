// SPDX-License-Identifier: MIT
#include "cases/roof.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>
#include <numeric>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace norite::cases {
namespace {

constexpr int64_t kBufferBytes = int64_t{256} << 20;
/// What a thread takes at a time: long enough to stream, short enough to balance.
constexpr int64_t kGrainBytes = int64_t{1} << 20;
constexpr int64_t kLineBytes = 64;
constexpr int kCalibrationRounds = 3;

// Argument positions of the probe's kernels.
constexpr size_t kSource = 0;
constexpr size_t kTarget = 1;

/// Writes a cache line without reading it first, where the compiler and the machine know how.
void stream_line(std::byte* target, const std::byte* source) {
#if defined(__SSE2__)
  for (int64_t at = 0; at < kLineBytes; at += int64_t{sizeof(__m128i)}) {
    const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + at));
    _mm_stream_si128(reinterpret_cast<__m128i*>(target + at), value);
  }
#else
  std::memcpy(target, source, kLineBytes);
#endif
}

Result<void> copy_plain(const NativeCall& call) {
  const auto* source = call.data<const std::byte>(kSource);
  auto* target = call.data<std::byte>(kTarget);
  call.parallel_for(kBufferBytes, kGrainBytes, [=](int64_t begin, int64_t end) {
    std::memcpy(target + begin, source + begin, static_cast<size_t>(end - begin));
  });
  return {};
}

Result<void> copy_streaming(const NativeCall& call) {
  const auto* source = call.data<const std::byte>(kSource);
  auto* target = call.data<std::byte>(kTarget);
  call.parallel_for(kBufferBytes, kGrainBytes, [=](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kLineBytes) stream_line(target + at, source + at);
    // Streaming stores are not ordered with the signal that this range is done.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  });
  return {};
}

/// Reads a grain as several streams side by side: one or many is faster, by machine.
template <int kStreams>
uint64_t read_grain(const uint64_t* words) {
  constexpr int64_t kLineWords = kLineBytes / int64_t{sizeof(uint64_t)};
  constexpr int64_t kStreamWords = kGrainBytes / int64_t{sizeof(uint64_t)} / kStreams;
  uint64_t lanes[kLineWords] = {};
  for (int64_t at = 0; at < kStreamWords; at += kLineWords) {
    for (int stream = 0; stream < kStreams; ++stream) {
      const uint64_t* line = words + stream * kStreamWords + at;
      for (int64_t i = 0; i < kLineWords; ++i) lanes[i] += line[i];
    }
  }
  return std::accumulate(std::begin(lanes), std::end(lanes), uint64_t{0});
}

template <int kStreams>
Result<void> read_all(const NativeCall& call) {
  const auto* source = call.data<const uint64_t>(kSource);
  auto* sums = call.data<uint64_t>(kTarget);
  call.parallel_for(kBufferBytes / kGrainBytes, 1, [=](int64_t begin, int64_t end) {
    for (int64_t grain = begin; grain < end; ++grain) {
      // The sum is of no interest, but keeps the reads from being removed.
      sums[grain] = read_grain<kStreams>(source + grain * kGrainBytes / int64_t{sizeof(uint64_t)});
    }
  });
  return {};
}

/// A kernel of the probe; another probe on the same device may have registered it already.
Result<Pipeline> pipeline(const Device& device, NativeKernel kernel) {
  KernelId id{.name = kernel.name};
  if (auto added = device.registry().register_native(std::move(kernel));
      !added && added.error().code != Code::already_exists) {
    return tl::unexpected(std::move(added).error());
  }
  return device.registry().get_pipeline(id);
}

}  // namespace

Result<RoofProbe> RoofProbe::make(const Device& device) {
  RoofProbe probe(device);
  NORITE_TRY_ASSIGN(probe.source_, device.empty(DType::u8, {kBufferBytes}));
  NORITE_TRY_ASSIGN(probe.target_, device.empty(DType::u8, {kBufferBytes}));
  NORITE_TRY_ASSIGN(probe.sums_, device.empty(DType::u8, {kBufferBytes / kGrainBytes * 8}));
  // Untouched pages may all be one page of zeros in the cache: give each its own memory.
  const std::vector<std::byte> ones(kGrainBytes, std::byte{1});
  for (int64_t at = 0; at < kBufferBytes; at += kGrainBytes) {
    NORITE_TRY(probe.source_.write(ones, at));
  }

  const std::vector<Parameter> copies = {{"source", Access::read}, {"target", Access::write}};
  const std::vector<Parameter> reads = {{"source", Access::read}, {"sums", Access::write}};
  NORITE_TRY_ASSIGN(const Pipeline plain,
                    pipeline(device, {"roof.copy_plain", copies, copy_plain}));
  NORITE_TRY_ASSIGN(const Pipeline streaming,
                    pipeline(device, {"roof.copy_streaming", copies, copy_streaming}));
  NORITE_TRY_ASSIGN(const Pipeline read_1, pipeline(device, {"roof.read_1", reads, read_all<1>}));
  NORITE_TRY_ASSIGN(const Pipeline read_4, pipeline(device, {"roof.read_4", reads, read_all<4>}));
  NORITE_TRY_ASSIGN(probe.copy_, probe.faster(plain, streaming, probe.target_));
  NORITE_TRY_ASSIGN(probe.read_, probe.faster(read_1, read_4, probe.sums_));
  return probe;
}

Result<Pipeline> RoofProbe::faster(const Pipeline& a, const Pipeline& b,
                                   const Buffer& target) const {
  double best_a = 0, best_b = 0;
  for (int round = 0; round < kCalibrationRounds; ++round) {
    NORITE_TRY_ASSIGN(const double with_a, time(a, target, kBufferBytes));
    NORITE_TRY_ASSIGN(const double with_b, time(b, target, kBufferBytes));
    best_a = std::max(best_a, with_a);
    best_b = std::max(best_b, with_b);
  }
  return best_a > best_b ? a : b;
}

std::string_view RoofProbe::store_kind() const {
  return copy_.name() == "roof.copy_streaming" ? "streaming" : "plain";
}

Result<double> RoofProbe::sample(Roof roof) const {
  if (roof == Roof::read) return time(read_, sums_, kBufferBytes);
  return time(copy_, target_, 2 * kBufferBytes);
}

Result<double> RoofProbe::time(const Pipeline& pipeline, const Buffer& target,
                               int64_t bytes) const {
  Encoder encoder = device_.encoder();
  const Argument arguments[] = {source_, target};
  NORITE_TRY(encoder.dispatch(pipeline, arguments));
  const auto start = std::chrono::steady_clock::now();
  NORITE_TRY(encoder.submit_and_wait());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return static_cast<double>(bytes) / elapsed.count() / 1e9;
}

}  // namespace norite::cases
