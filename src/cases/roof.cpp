// SPDX-License-Identifier: MIT
#include "cases/roof.hpp"

#include "cases/timing.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <numeric>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace norite::cases {
namespace {

/// Far beyond the caches: of a host, and of a device whose memory is large and fast.
constexpr int64_t kBufferBytes = int64_t{256} << 20;
constexpr int64_t kLargeBufferBytes = int64_t{2} << 30;
constexpr int64_t kLargeMemoryBytes = int64_t{30} << 30;
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
Result<RoofKernel> host_kernel(const Device& device, NativeKernel kernel) {
  KernelId id{.name = kernel.name};
  if (auto added = device.registry().register_native(std::move(kernel));
      !added && added.error().code != Code::already_exists) {
    return tl::unexpected(std::move(added).error());
  }
  NORITE_TRY_ASSIGN(Pipeline pipeline, device.registry().get_pipeline(id));
  return RoofKernel{std::move(pipeline)};
}

}  // namespace

RoofProbe::RoofProbe(const Device& device)
    : device_(device),
      bytes_(!runs_on_host(device) && device.info().memory_bytes >= kLargeMemoryBytes
                 ? kLargeBufferBytes
                 : kBufferBytes) {}

Result<RoofProbe> RoofProbe::make(const Device& device) {
  RoofProbe probe(device);
  NORITE_TRY(probe.make_buffers());
  NORITE_TRY(runs_on_host(device) ? probe.choose_host_kernels() : probe.choose_text_kernels());
  return probe;
}

Result<void> RoofProbe::make_buffers() {
  NORITE_TRY_ASSIGN(source_, device_.empty(DType::u8, {bytes_}));
  NORITE_TRY_ASSIGN(target_, device_.empty(DType::u8, {bytes_}));
  NORITE_TRY_ASSIGN(sums_, device_.empty(DType::u8, {bytes_ / kGrainBytes * 8}));
  // Untouched pages may all be one page of zeros in the cache: give each its own memory.
  const std::vector<std::byte> ones(kGrainBytes, std::byte{1});
  for (int64_t at = 0; at < bytes_; at += kGrainBytes) NORITE_TRY(source_.write(ones, at));
  return {};
}

Result<void> RoofProbe::choose_host_kernels() {
  const std::vector<Parameter> copies = {{"source", Access::read}, {"target", Access::write}};
  const std::vector<Parameter> reads = {{"source", Access::read}, {"sums", Access::write}};
  NORITE_TRY_ASSIGN(const auto plain,
                    host_kernel(device_, {"roof.copy_plain", copies, copy_plain}));
  NORITE_TRY_ASSIGN(const auto streaming,
                    host_kernel(device_, {"roof.copy_streaming", copies, copy_streaming}));
  NORITE_TRY_ASSIGN(const auto read_1, host_kernel(device_, {"roof.read_1", reads, read_all<1>}));
  NORITE_TRY_ASSIGN(const auto read_4, host_kernel(device_, {"roof.read_4", reads, read_all<4>}));
  NORITE_TRY_ASSIGN(copy_, faster(plain, streaming, target_));
  NORITE_TRY_ASSIGN(read_, faster(read_1, read_4, sums_));
  return {};
}

Result<void> RoofProbe::choose_text_kernels() {
  NORITE_TRY_ASSIGN(const auto copy_1, copy_from_text(device_, bytes_, 1));
  NORITE_TRY_ASSIGN(const auto copy_4, copy_from_text(device_, bytes_, 4));
  NORITE_TRY_ASSIGN(const auto read_4, read_from_text(device_, bytes_, 4));
  NORITE_TRY_ASSIGN(const auto read_8, read_from_text(device_, bytes_, 8));
  NORITE_TRY_ASSIGN(copy_, faster(copy_1, copy_4, target_));
  NORITE_TRY_ASSIGN(read_, faster(read_4, read_8, sums_));
  return {};
}

Result<RoofKernel> RoofProbe::faster(const RoofKernel& a, const RoofKernel& b,
                                     const Buffer& target) const {
  double best_a = 0, best_b = 0;
  for (int round = 0; round < kCalibrationRounds; ++round) {
    NORITE_TRY_ASSIGN(const double with_a, time(a, target, bytes_));
    NORITE_TRY_ASSIGN(const double with_b, time(b, target, bytes_));
    best_a = std::max(best_a, with_a);
    best_b = std::max(best_b, with_b);
  }
  return best_a > best_b ? a : b;
}

std::string_view RoofProbe::store_kind() const {
  return copy_.pipeline.name() == "roof.copy_streaming" ? "streaming" : "plain";
}

Result<double> RoofProbe::sample(Roof roof) const {
  if (roof == Roof::read) return time(read_, sums_, bytes_);
  return time(copy_, target_, 2 * bytes_);
}

Result<void> RoofProbe::encode(Roof roof, Encoder& encoder) const {
  return roof == Roof::read ? encode(read_, sums_, encoder) : encode(copy_, target_, encoder);
}

Result<void> RoofProbe::encode(const RoofKernel& kernel, const Buffer& target,
                               Encoder& encoder) const {
  const Argument arguments[] = {source_, target};
  return encoder.dispatch(kernel.pipeline, arguments, kernel.grid);
}

Result<double> RoofProbe::time(const RoofKernel& kernel, const Buffer& target,
                               int64_t bytes) const {
  Encoder encoder = timed_encoder(device_);
  NORITE_TRY(encode(kernel, target, encoder));
  NORITE_TRY_ASSIGN(const double seconds, timed_run(encoder));
  return static_cast<double>(bytes) / seconds / 1e9;
}

}  // namespace norite::cases
