// SPDX-License-Identifier: MIT
#include "backends/cuda/staging.hpp"

#include <algorithm>
#include <cstring>

namespace norite::cuda {

namespace {

constexpr size_t kPieceBytes = size_t{4} << 20;

size_t piece_count(size_t bytes) { return (bytes + kPieceBytes - 1) / kPieceBytes; }

/// The bytes of piece i.
template <class Byte>
std::span<Byte> piece_of(std::span<Byte> all, size_t i) {
  const size_t begin = i * kPieceBytes;
  return all.subspan(begin, std::min(kPieceBytes, all.size() - begin));
}

}  // namespace

Staging::~Staging() {
  for (Piece& piece : pieces_) {
    if (piece.copied != nullptr) events_.give_back(piece.copied);
  }
}

Result<void> Staging::prepare() {
  for (Piece& piece : pieces_) {
    if (piece.memory) continue;
    NORITE_TRY_ASSIGN(auto memory, Pinned::allocate(stream_, kPieceBytes));
    piece.memory.emplace(std::move(memory));
  }
  return {};
}

Result<void> Staging::wait(Piece& piece) {
  if (piece.copied == nullptr) return {};
  CUevent event = std::exchange(piece.copied, nullptr);
  const CUresult error = stream_->driver().cuEventSynchronize(event);
  events_.give_back(event);
  return stream_->context().check(error, "a copy between host and GPU");
}

Result<void> Staging::mark(Piece& piece) {
  if (piece.copied != nullptr) events_.give_back(std::exchange(piece.copied, nullptr));
  NORITE_TRY_ASSIGN(piece.copied, events_.record());
  return {};
}

Result<void> Staging::upload(CUdeviceptr target, std::span<const std::byte> source) {
  const std::scoped_lock lock(mutex_);
  NORITE_TRY(prepare());
  for (size_t i = 0; i < piece_count(source.size()); ++i) {
    Piece& piece = pieces_[i % pieces_.size()];
    const auto part = piece_of(source, i);
    NORITE_TRY(wait(piece));
    std::memcpy(piece.memory->data(), part.data(), part.size());
    NORITE_TRY(stream_->context().check(
        stream_->driver().cuMemcpyHtoDAsync_v2(target + i * kPieceBytes, piece.memory->data(),
                                               part.size(), stream_->handle()),
        "a copy to the GPU"));
    NORITE_TRY(mark(piece));
  }
  return {};
}

Result<void> Staging::download(std::span<std::byte> target, CUdeviceptr source) {
  const std::scoped_lock lock(mutex_);
  NORITE_TRY(prepare());
  const size_t count = piece_count(target.size());
  const auto start = [&](size_t i) -> Result<void> {
    Piece& piece = pieces_[i % pieces_.size()];
    NORITE_TRY(stream_->context().check(
        stream_->driver().cuMemcpyDtoHAsync_v2(piece.memory->data(), source + i * kPieceBytes,
                                               piece_of(target, i).size(), stream_->handle()),
        "a copy from the GPU"));
    return mark(piece);
  };
  if (count > 0) NORITE_TRY(start(0));
  for (size_t i = 0; i < count; ++i) {
    if (i + 1 < count) NORITE_TRY(start(i + 1));
    Piece& piece = pieces_[i % pieces_.size()];
    NORITE_TRY(wait(piece));
    const auto part = piece_of(target, i);
    std::memcpy(part.data(), piece.memory->data(), part.size());
  }
  return {};
}

}  // namespace norite::cuda
