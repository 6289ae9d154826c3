// SPDX-License-Identifier: MIT
// Which bytes a view touches, precise enough to tell columns of one matrix apart.
#pragma once

#include <cstdint>

#include "norite/view.hpp"

namespace norite::core {

/// Bytes of one allocation.
struct Footprint : ByteRuns {
  const Storage* storage = nullptr;
};

inline Footprint footprint(const View& view) noexcept {
  return {view.layout().touched, view.buffer().storage().get()};
}

/// Whether runs of both meet, of which one reaches into the other.
bool runs_meet(const ByteRuns& a, const ByteRuns& b) noexcept;

/// False only when no byte is touched by both.
inline bool may_overlap(const Footprint& a, const Footprint& b) noexcept {
  return a.storage == b.storage && a.begin < b.end && b.begin < a.end && runs_meet(a, b);
}

/// Whether bytes of both may be the same ones, be it in two buffers that wrap them.
bool may_meet(const View& a, const View& b) noexcept;

/// Same elements in the same places: what "in place" means.
bool same_view(const View& a, const View& b) noexcept;

}  // namespace norite::core
