// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "backends/cpu/msl/group_runner.hpp"

namespace norite::cpu::msl {

using norite_msl::Uint3;

namespace {

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

std::string_view access_name(bool write, bool atomic) {
  if (atomic) return write ? "atomic update by" : "atomic read by";
  return write ? "write by" : "read by";
}

std::string buffer_name(const BufferBinding& buffer) {
  return buffer.name.empty() ? fmt::format("buffer {}", buffer.index)
                             : fmt::format("buffer {} ({})", buffer.index, buffer.name);
}

constexpr uintptr_t kNullPage = 4096;
// Further away than this, an address has nothing to do with the memory nearest to it.
constexpr uint64_t kNearby = uint64_t{1} << 36;

}  // namespace

Checker::Checker(const GroupWork& work, const Launch& launch, std::byte* arena)
    : work_(work), launch_(launch), arena_(number(arena)) {
  for (const BufferBinding& buffer : launch.buffers) {
    buffers_.push_back({number(buffer.data), buffer.bytes, buffer.read_only, buffer_name(buffer)});
  }
}

Result<void> Checker::prepare() {
  // Views of one buffer may overlap, and then share their past.
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;
  for (const Region& buffer : buffers_) {
    if (!buffer.read_only && buffer.bytes > 0) {
      ranges.emplace_back(buffer.begin, buffer.begin + buffer.bytes);
    }
  }
  std::sort(ranges.begin(), ranges.end());
  bool enough = threadgroup_shadow_.cover(arena_, kArenaBytes);
  for (size_t i = 0; i < ranges.size();) {
    auto [begin, end] = ranges[i++];
    for (; i < ranges.size() && ranges[i].first < end; ++i) end = std::max(end, ranges[i].second);
    enough = enough && buffer_shadows_.emplace_back().cover(begin, end - begin);
  }
  if (enough) return {};
  return fail(Code::out_of_memory,
              fmt::format("kernel \"{}\": no memory to check its buffers with", launch_.kernel));
}

// --- What orders accesses ---------------------------------------------------------------------

void Checker::begin_group(Uint3 position) {
  group_ = position;
  device_clock_.begin_group();
  threadgroup_clock_.begin_group();
  group_starts_.push_back(device_clock_.first());
}

void Checker::Barrier::add(unsigned thread, const void* site, unsigned thread_scopes) {
  scopes |= thread_scopes;
  if (!any) {
    any = true;
    first = {thread, site};
  } else if (!divergent && site != first.site) {
    divergent = true;
    other = {thread, site};
  }
}

void Checker::barrier(const Barrier& barrier) {
  if (barrier.divergent) {
    const auto part = [&](const Barrier::Place& place) {
      return place.site == nullptr
                 ? Part{"has ended:", group_, place.thread, 0}
                 : Part{"waits:", group_, place.thread, work_.object->offset(place.site)};
    };
    const Part first = part(barrier.first);
    const Part other = part(barrier.other);
    constexpr std::string_view kKind = "threadgroup barrier that not every thread reaches";
    if (!findings_.seen(kKind, first.site, other.site)) findings_.add({kKind, {first, other}, ""});
  }
  if ((barrier.scopes & norite_msl::kDeviceMemory) != 0) device_clock_.barrier();
  if ((barrier.scopes & norite_msl::kThreadgroupMemory) != 0) threadgroup_clock_.barrier();
}

void Checker::simdgroup_barrier(unsigned simdgroup, unsigned scopes) {
  if ((scopes & norite_msl::kDeviceMemory) != 0) device_clock_.simdgroup_barrier(simdgroup);
  if ((scopes & norite_msl::kThreadgroupMemory) != 0) {
    threadgroup_clock_.simdgroup_barrier(simdgroup);
  }
}

// --- Accesses ---------------------------------------------------------------------------------

bool Checker::access(unsigned thread, const void* address, uint64_t bytes, unsigned kind,
                     const void* site) {
  if (bytes == 0) return true;
  const Access access = {.thread = thread,
                         .address = number(address),
                         .bytes = bytes,
                         .write = (kind & norite_msl::kWrite) != 0,
                         .atomic = (kind & norite_msl::kAtomic) != 0,
                         .site = work_.object->offset(site)};
  return access.address - arena_ < kArenaBytes ? check_threadgroup(access) : check_buffers(access);
}

bool Checker::check_threadgroup(const Access& access) {
  const Region* region = find(threadgroup_, access, false);
  if (region == nullptr) {
    threadgroup_ = threadgroup_regions();  // a variable may have been placed since
    region = find(threadgroup_, access, false);
  }
  if (region == nullptr) {
    refuse_outside(access);
    return false;
  }
  note(threadgroup_shadow_, threadgroup_clock_, access, *region);
  return true;
}

bool Checker::check_buffers(const Access& access) {
  if (const Region* region = find(buffers_, access, access.write)) {
    for (Shadow& shadow : buffer_shadows_) note(shadow, device_clock_, access, *region);
    return true;
  }
  if (!access.write && work_.object->contains(reinterpret_cast<const void*>(access.address))) {
    return true;  // constants of the kernel's text
  }
  if (const Region* region = find(buffers_, access, false)) {
    found("write to read-only memory", access, region->name);
  } else {
    refuse_outside(access);
  }
  return false;
}

const Checker::Region* Checker::find(const std::vector<Region>& regions, const Access& access,
                                     bool to_write) {
  for (const Region& region : regions) {
    if (region.holds(access.address, access.bytes) && !(to_write && region.read_only)) {
      return &region;
    }
  }
  return nullptr;
}

std::vector<Checker::Region> Checker::threadgroup_regions() const {
  std::vector<Region> regions;
  for (const auto& [offset, bytes] : work_.object->variables().extents()) {
    regions.push_back(
        {arena_ + offset, bytes, false, fmt::format("threadgroup variable {}", regions.size())});
  }
  for (unsigned slot = 0; slot < norite_msl::kMaxThreadgroupSlots; ++slot) {
    if (work_.slot_bytes[slot] == 0) continue;
    regions.push_back({arena_ + kSlotsOffset + work_.slot_offset[slot], work_.slot_bytes[slot],
                       false, fmt::format("threadgroup slot {}", slot)});
  }
  return regions;
}

void Checker::note(Shadow& shadow, const Clock& clock, const Access& access, const Region& region) {
  const bool threadgroup = &clock == &threadgroup_clock_;
  const Stamp now = clock.now(access.thread, access.site, access.atomic);
  const auto outcome = shadow.note(access.address, access.bytes, access.write, now, clock);
  const auto place = [&] {
    return fmt::format("{} bytes at byte {} of {}", access.bytes, access.address - region.begin,
                       region.name);
  };
  if (outcome.collision) {
    const Stamp& earlier = outcome.collision->earlier;
    const std::string_view kind = threadgroup ? "race on threadgroup memory"
                                  : earlier.epoch < clock.first()
                                      ? "race between groups on device memory"
                                      : "race on device memory";
    if (findings_.seen(kind, earlier.site(), access.site)) return;
    const Part other = {access_name(outcome.collision->earlier_wrote, earlier.atomic()),
                        threadgroup ? group_ : group_of(earlier), earlier.thread(), earlier.site()};
    findings_.add({kind, {other, part_of(access)}, place()});
  } else if (threadgroup && !access.write && !outcome.any_written) {
    found("read of threadgroup memory that no thread has written", access, place());
  }
}

void Checker::found(std::string_view kind, const Access& access, const std::string& where) {
  if (!findings_.seen(kind, access.site, 0)) findings_.add({kind, {part_of(access)}, where});
}

// --- What is said -----------------------------------------------------------------------------

void Checker::refuse_outside(const Access& access) {
  found("out of bounds", access, fmt::format("{} bytes, {}", access.bytes, outside_of(access)));
}

std::string Checker::outside_of(const Access& access) const {
  if (access.address < kNullPage) return "null pointer";
  const auto& regions = access.address - arena_ < kArenaBytes ? threadgroup_ : buffers_;
  const Region* nearest = nullptr;
  uint64_t least = UINT64_MAX;
  for (const Region& region : regions) {
    const uintptr_t end = region.begin + region.bytes;
    const uint64_t distance = access.address < region.begin
                                  ? region.begin - access.address
                                  : access.address - std::min(end, access.address);
    if (distance < least) std::tie(least, nearest) = std::pair(distance, &region);
  }
  if (least > kNearby) return "outside all memory of the kernel";
  const auto said = [&](uint64_t bytes, std::string_view words) {
    return fmt::format("{} byte{} {} {} ({} bytes)", bytes, bytes == 1 ? "" : "s", words,
                       nearest->name, nearest->bytes);
  };
  const uintptr_t end = nearest->begin + nearest->bytes;
  if (access.address < nearest->begin) return said(least, "before the start of");
  if (access.address >= end) return said(least, "past the end of");
  return fmt::format("reaching {}", said(access.address + access.bytes - end, "past the end of"));
}

Part Checker::part_of(const Access& access) const {
  return {access_name(access.write, access.atomic), group_, access.thread, access.site};
}

// Groups run in the order of their number, x first.
Uint3 Checker::group_of(const Stamp& stamp) const {
  const auto next = std::upper_bound(group_starts_.begin(), group_starts_.end(), stamp.epoch);
  const auto number = static_cast<uint64_t>(next - group_starts_.begin() - 1);
  const Uint3 groups = work_.groups;
  return {static_cast<unsigned>(number % groups.x),
          static_cast<unsigned>(number / groups.x % groups.y),
          static_cast<unsigned>(number / groups.x / groups.y)};
}

Result<void> Checker::report() const { return findings_.report(launch_.kernel, *work_.object); }

}  // namespace norite::cpu::msl
