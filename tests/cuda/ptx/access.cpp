// SPDX-License-Identifier: MIT
// Loads, stores, atomics, and copies to shared memory. Their address is the first register, except
// that an atomic's result comes before it.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <type_traits>

#include "cuda/ptx/operations.hpp"

namespace norite::ptx {

namespace {

uint64_t address_in(Warp& warp, uint32_t at, unsigned bytes, unsigned lane) {
  return bytes == 8 ? warp.at<uint64_t>(at)[lane] : warp.at<uint32_t>(at)[lane];
}

/// What a thread accesses, checked.
struct Place {
  uint8_t* memory;
  Space space;
  uint64_t address;
};

Place place_of(Warp& warp, Space space, uint64_t address, size_t bytes, unsigned lane, int line) {
  return {warp.group().locate(space, address, bytes, warp.thread(lane), line), space, address};
}

enum class Kind { read, write };

void check_race(Warp& warp, const Place& place, size_t bytes, unsigned lane, Kind kind,
                const Instruction& one) {
  if (place.space != Space::shared) return;
  Races& races = warp.group().races();
  Access access = races.access(warp.thread(lane), warp.meetings());
  access.atomic = one.atomic;
  const bool fine = kind == Kind::read ? races.read(place.address, bytes, access)
                                       : races.write(place.address, bytes, access);
  if (fine) return;
  throw Fault(Fault::Kind::race, std::string("a race on shared memory: ") +
                                     (kind == Kind::read ? "read" : "written") + " by " +
                                     warp.group().describe(warp.thread(lane), one.line));
}

Place place_of(Warp& warp, const Instruction& one, uint32_t at, size_t bytes, unsigned lane) {
  const uint64_t address =
      address_in(warp, at, one.address_bytes, lane) + static_cast<uint64_t>(one.offset);
  return place_of(warp, one.space, address, bytes, lane, one.line);
}

template <class T, class R>
void load(Warp& warp, const Instruction& one, Mask lanes) {
  const size_t bytes = sizeof(T) * one.count;
  for_lanes(lanes, [&](unsigned lane) {
    const Place place = place_of(warp, one, one.at[0], bytes, lane);
    check_race(warp, place, bytes, lane, Kind::read, one);
    for (unsigned i = 0; i < one.count; ++i) {
      T value;
      std::memcpy(&value, place.memory + i * sizeof(T), sizeof(T));
      warp.at<R>(one.at[1 + i])[lane] = static_cast<R>(value);
    }
  });
}

/// A parameter by its name: at the same address for all lanes.
template <class T, class R>
void load_parameter(Warp& warp, const Instruction& one, Mask lanes) {
  const auto any = static_cast<unsigned>(std::countr_zero(lanes));
  const Place place = place_of(warp, one, one.at[0], sizeof(T) * one.count, any);
  for (unsigned i = 0; i < one.count; ++i) {
    T value;
    std::memcpy(&value, place.memory + i * sizeof(T), sizeof(T));
    R* const result = warp.at<R>(one.at[1 + i]);
    for_lanes(lanes, [&](unsigned lane) { result[lane] = static_cast<R>(value); });
  }
}

template <class T, class R>
void store(Warp& warp, const Instruction& one, Mask lanes) {
  const size_t bytes = sizeof(T) * one.count;
  warp.group().execution().idle = 0;
  for_lanes(lanes, [&](unsigned lane) {
    const Place place = place_of(warp, one, one.at[0], bytes, lane);
    check_race(warp, place, bytes, lane, Kind::write, one);
    for (unsigned i = 0; i < one.count; ++i) {
      const T value = static_cast<T>(warp.at<R>(one.at[1 + i])[lane]);
      std::memcpy(place.memory + i * sizeof(T), &value, sizeof(T));
    }
  });
}

enum class AccessKind { load, load_parameter, store };

template <class T>
Handler* access_of(AccessKind kind, size_t register_bytes) {
  return of_bytes(register_bytes, [&]<class R>(R) -> Handler* {
    if constexpr (sizeof(R) < sizeof(T)) {
      return nullptr;
    } else {
      if (kind == AccessKind::load_parameter) return &load_parameter<T, R>;
      return kind == AccessKind::load ? &load<T, R> : &store<T, R>;
    }
  });
}

/// Floats go by their bits.
Handler* access_of(std::string_view type, AccessKind kind, size_t register_bytes) {
  if (type == "s8") return access_of<int8_t>(kind, register_bytes);
  if (type == "s16") return access_of<int16_t>(kind, register_bytes);
  if (type == "s32") return access_of<int32_t>(kind, register_bytes);
  return of_bytes(bytes_of_type(type),
                  [&]<class T>(T) { return access_of<T>(kind, register_bytes); });
}

template <class T, class Op>
void change(Warp& warp, const Instruction& one, Mask lanes) {
  for_lanes(lanes, [&](unsigned lane) {
    const Place place = place_of(warp, one, one.at[1], sizeof(T), lane);
    check_race(warp, place, sizeof(T), lane, Kind::write, one);
    T old, third = {};
    std::memcpy(&old, place.memory, sizeof(T));
    if (one.count == 3) third = warp.at<T>(one.at[3])[lane];
    const T value = Op{}(old, warp.at<T>(one.at[2])[lane], third);
    if (std::memcmp(place.memory, &value, sizeof(T)) != 0) warp.group().execution().idle = 0;
    std::memcpy(place.memory, &value, sizeof(T));
    warp.at<T>(one.at[0])[lane] = old;
  });
}

template <class T, class Op>
Handler* changing(Op) {
  return &change<T, Op>;
}

template <class T>
Handler* atomic_of(const Statement& one) {
  if (one.has("add")) return changing<T>([](T a, T b, T) { return T(a + b); });
  if (one.has("min")) return changing<T>([](T a, T b, T) { return std::min(a, b); });
  if (one.has("max")) return changing<T>([](T a, T b, T) { return std::max(a, b); });
  if (one.has("exch")) return changing<T>([](T, T b, T) { return b; });
  if (one.has("cas")) return changing<T>([](T a, T b, T c) { return a == b ? c : a; });
  if constexpr (std::is_integral_v<T>) {
    if (one.has("and")) return changing<T>([](T a, T b, T) { return T(a & b); });
    if (one.has("or")) return changing<T>([](T a, T b, T) { return T(a | b); });
    if (one.has("xor")) return changing<T>([](T a, T b, T) { return T(a ^ b); });
  }
  return nullptr;
}

Handler* atomic(const Statement& one) {
  const std::string& type = one.opcode.back();
  if (type == "u32" || type == "b32") return atomic_of<uint32_t>(one);
  if (type == "s32" && (one.has("min") || one.has("max"))) return atomic_of<int32_t>(one);
  if (type == "s32") return atomic_of<uint32_t>(one);  // wraps
  if (type == "u64" || type == "b64") return atomic_of<uint64_t>(one);
  if (type == "f32") return atomic_of<float>(one);
  return nullptr;
}

// --- Copies -------------------------------------------------------------------------------------

/// `count` is the bytes of one; `address_bytes` and `offset` are of the target.
void begin_copy(Warp& warp, const Instruction& one, Mask lanes) {
  for_lanes(lanes, [&](unsigned lane) {
    const uint64_t to =
        address_in(warp, one.at[0], one.address_bytes, lane) + static_cast<uint64_t>(one.offset);
    const uint64_t from =
        warp.at<uint64_t>(one.at[1])[lane] + static_cast<uint64_t>(one.source_offset);
    const Place target = place_of(warp, Space::shared, to, one.count, lane, one.line);
    const Place source = place_of(warp, Space::global, from, one.count, lane, one.line);
    check_race(warp, target, one.count, lane, Kind::write, one);
    std::memset(target.memory, 0xff, one.count);
    Copy copy{.to = to,
              .from = reinterpret_cast<uint64_t>(source.memory),
              .bytes = one.count,
              .taken = warp.group().execution().random() % 2 == 0};
    if (copy.taken) std::memcpy(copy.contents.data(), source.memory, one.count);
    warp.begin_copy(lane, copy);
  });
}

void end_copies(Warp& warp, const Instruction&, Mask lanes) { warp.end_copies(lanes); }

void await_copies(Warp& warp, const Instruction& one, Mask lanes) {
  warp.await_copies(lanes, static_cast<unsigned>(one.offset), [&](unsigned lane, const Copy& copy) {
    const Place target = place_of(warp, Space::shared, copy.to, copy.bytes, lane, one.line);
    check_race(warp, target, copy.bytes, lane, Kind::write, one);
    const auto* const source =
        copy.taken ? copy.contents.data() : reinterpret_cast<const uint8_t*>(copy.from);
    std::memcpy(target.memory, source, copy.bytes);
  });
}

Handler* copy(const Statement& one) {
  if (one.has("commit_group")) return &end_copies;
  if (one.has("wait_group")) return &await_copies;
  return one.has("shared") && one.has("global") ? &begin_copy : nullptr;
}

}  // namespace

Handler* access(const Statement& one, size_t register_bytes) {
  const std::string &name = one.opcode[0], &type = one.opcode.back();
  if (name == "st") return access_of(type, AccessKind::store, register_bytes);
  if (name == "ld") {
    const bool by_name = !one.operands.at(1).parts.at(0).name.starts_with("%");
    const bool parameter = one.has("param") && by_name;
    return access_of(type, parameter ? AccessKind::load_parameter : AccessKind::load,
                     register_bytes);
  }
  if (name == "atom" || name == "red") return atomic(one);
  if (name == "cp" && one.has("async")) return copy(one);
  return nullptr;
}

}  // namespace norite::ptx
