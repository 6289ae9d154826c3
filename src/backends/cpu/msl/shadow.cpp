// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/shadow.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

namespace norite::cpu::msl {

namespace {

// A thread that touched a byte both plainly and atomically counts as plain.
Stamp merged(const Stamp& earlier, Stamp now) {
  const bool same_thread = earlier.epoch == now.epoch && earlier.thread() == now.thread();
  if (same_thread && !earlier.atomic()) now.what &= ~uint32_t{1};
  return now;
}

}  // namespace

Shadow::~Shadow() {
  if (cells_ != nullptr) ::munmap(cells_, bytes_ * sizeof(Cell));
}

Shadow::Shadow(Shadow&& other) noexcept
    : begin_(other.begin_),
      bytes_(std::exchange(other.bytes_, 0)),
      cells_(std::exchange(other.cells_, nullptr)) {}

bool Shadow::cover(uintptr_t begin, uint64_t bytes) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
  void* memory = ::mmap(nullptr, bytes * sizeof(Cell), PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) return false;
  begin_ = begin;
  bytes_ = bytes;
  cells_ = static_cast<Cell*>(memory);  // zeros: no access yet
  return true;
}

Shadow::Outcome Shadow::note(uintptr_t address, uint64_t bytes, bool is_write, const Stamp& now,
                             const Clock& clock) {
  Outcome outcome;
  const uintptr_t first = std::max(address, begin_);
  const uintptr_t end = std::min(address + bytes, begin_ + bytes_);
  for (uintptr_t byte = first; byte < end; ++byte) {
    Cell& cell = cells_[byte - begin_];
    outcome.any_written |= cell.writer.epoch >= clock.first();
    const auto collision = is_write ? write(cell, now, clock) : read(cell, now, clock);
    if (!outcome.collision) outcome.collision = collision;
  }
  return outcome;
}

std::optional<Shadow::Collision> Shadow::read(Cell& cell, const Stamp& now, const Clock& clock) {
  std::optional<Collision> collision;
  if (clock.collide(cell.writer, now)) collision = {cell.writer, true};

  if (cell.latest.epoch != now.epoch) {
    if (cell.latest.epoch < clock.first() && cell.latest.epoch != 0) cell.foreign = cell.latest;
    cell.latest = now;
    cell.peer = cell.elsewhere = {};
  } else if (cell.latest.thread() == now.thread()) {
    cell.latest = merged(cell.latest, now);
  } else {
    if (cell.latest.simdgroup() == now.simdgroup()) {
      cell.peer = cell.latest;
    } else {
      cell.elsewhere = cell.latest;
      cell.peer = {};
    }
    cell.latest = now;
  }
  return collision;
}

std::optional<Shadow::Collision> Shadow::write(Cell& cell, const Stamp& now, const Clock& clock) {
  std::optional<Collision> collision;
  if (clock.collide(cell.writer, now)) collision = {cell.writer, true};
  for (const Stamp* reader : {&cell.latest, &cell.peer, &cell.elsewhere, &cell.foreign}) {
    if (!collision && clock.collide(*reader, now)) collision = {*reader, false};
  }
  cell.writer = merged(cell.writer, now);
  return collision;
}

}  // namespace norite::cpu::msl
