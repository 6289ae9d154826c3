// SPDX-License-Identifier: MIT
// Integers, bits and what moves them.
#include <bit>
#include <limits>
#include <tuple>
#include <type_traits>

#include "cuda/ptx/operations.hpp"

namespace norite::ptx {

namespace {

/// All wrap around.
template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
using Wide = std::conditional_t<
    std::is_signed_v<T>,
    std::conditional_t<sizeof(T) == 2, int32_t,
                       std::conditional_t<sizeof(T) == 4, int64_t, __int128>>,
    std::conditional_t<sizeof(T) == 2, uint32_t,
                       std::conditional_t<sizeof(T) == 4, uint64_t, unsigned __int128>>>;

template <class T>
T product(T a, T b) {
  return static_cast<T>(Wide<Unsigned<T>>(Unsigned<T>(a)) * Unsigned<T>(b));
}

template <class T>
Operation integer(const Statement& one) {
  using U = Unsigned<T>;
  const std::string& name = one.opcode[0];
  if (name == "add") return each<T, T, T>([](T a, T b) { return U(U(a) + U(b)); });
  if (name == "sub") return each<T, T, T>([](T a, T b) { return U(U(a) - U(b)); });
  if (name == "neg") return each<T, T>([](T a) { return U(U(0) - U(a)); });
  if (name == "abs") return each<T, T>([](T a) { return a < 0 ? U(U(0) - U(a)) : U(a); });
  if (name == "min") return each<T, T, T>([](T a, T b) { return a < b ? a : b; });
  if (name == "max") return each<T, T, T>([](T a, T b) { return a < b ? b : a; });
  if (name == "mul" && one.has("lo")) return each<T, T, T>([](T a, T b) { return product(a, b); });
  if (name == "mul" && one.has("hi")) {
    return each<T, T, T>([](T a, T b) { return (Wide<T>(a) * b) >> (8 * sizeof(T)); });
  }
  if (name == "mad" && one.has("lo")) {
    return each<T, T, T, T>([](T a, T b, T c) { return U(U(product(a, b)) + U(c)); });
  }
  if constexpr (sizeof(T) < 8) {
    using W = Wide<T>;
    if (name == "mul" && one.has("wide")) {
      return each<W, T, T>([](T a, T b) { return W(a) * W(b); });
    }
    if (name == "mad" && one.has("wide")) {
      return each<W, T, T, W>(
          [](T a, T b, W c) { return Unsigned<W>(W(a) * W(b)) + Unsigned<W>(c); });
    }
  }
  // A quotient by zero is all ones; the least number by -1 wraps.
  if (name == "div") {
    return each<T, T, T>([](T a, T b) {
      if (b == 0) return T(~T(0));
      return std::is_signed_v<T> && b == T(-1) ? T(U(0) - U(a)) : T(a / b);
    });
  }
  if (name == "rem") {
    return each<T, T, T>([](T a, T b) {
      if (b == 0) return a;
      return std::is_signed_v<T> && b == T(-1) ? T(0) : T(a % b);
    });
  }
  return {};
}

/// The lowest `length` bits of `from`, put into `into` from bit `start` on.
template <class T>
T inserted(T from, T into, uint32_t start, uint32_t length) {
  constexpr uint32_t kBits = 8 * sizeof(T);
  start &= 0xff;
  length &= 0xff;
  if (start >= kBits || length == 0) return into;
  const T mask = T(length >= kBits ? ~T(0) : (T(1) << length) - 1) << start;
  return (into & ~mask) | (from << start & mask);
}

/// Four bytes of a and b, by the digits of a selector; the highest bit of one asks for the sign.
uint32_t permuted(uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t both = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t digit = selector >> (4 * i) & 0xf;
    const auto byte = static_cast<uint8_t>(both >> (8 * (digit & 7)));
    const uint8_t sign = byte >> 7 ? 0xff : 0;
    result |= uint32_t{digit & 8 ? sign : byte} << (8 * i);
  }
  return result;
}

template <class T>
Operation bits(const std::string& name) {
  if (name == "mov" || name == "cvta") return each<T, T>([](T a) { return a; });
  if (name == "and") return each<T, T, T>([](T a, T b) { return a & b; });
  if (name == "or") return each<T, T, T>([](T a, T b) { return a | b; });
  if (name == "xor") return each<T, T, T>([](T a, T b) { return a ^ b; });
  if (name == "not") return each<T, T>([](T a) { return ~a; });
  constexpr uint32_t kBits = 8 * sizeof(T);
  if (name == "shl") {
    return each<T, T, uint32_t>([](T a, uint32_t n) { return n < kBits ? T(a << n) : T(0); });
  }
  if (name == "shr") {
    return each<T, T, uint32_t>([](T a, uint32_t n) {
      if (n >= kBits) return std::is_signed_v<T> && a < 0 ? T(-1) : T(0);
      return T(a >> n);
    });
  }
  if (name == "bfi" && std::is_unsigned_v<T>) {
    return each<T, T, T, uint32_t, uint32_t>([](T from, T into, uint32_t start, uint32_t length) {
      return inserted<Unsigned<T>>(from, into, start, length);
    });
  }
  if (name == "prmt" && sizeof(T) == 4) {
    return each<uint32_t, uint32_t, uint32_t, uint32_t>(
        [](uint32_t a, uint32_t b, uint32_t selector) { return permuted(a, b, selector); });
  }
  if (name == "popc") {
    return each<uint32_t, T>([](T a) { return std::popcount(Unsigned<T>(a)); });
  }
  if (name == "clz") {
    return each<uint32_t, T>([](T a) { return std::countl_zero(Unsigned<T>(a)); });
  }
  return {};
}

/// The parts of a register, the lowest first.
template <class Whole, class Part>
void unpack_parts(Warp& warp, const Instruction& instruction, Mask lanes) {
  constexpr size_t kParts = sizeof(Whole) / sizeof(Part);
  const Whole* const whole = warp.at<Whole>(instruction.at[kParts]);
  for (size_t part = 0; part < kParts; ++part) {
    Part* const to = warp.at<Part>(instruction.at[part]);
    for_lanes(lanes, [&](unsigned lane) {
      to[lane] = static_cast<Part>(whole[lane] >> (8 * sizeof(Part) * part));
    });
  }
}

template <class Whole, class Part>
void pack_parts(Warp& warp, const Instruction& instruction, Mask lanes) {
  constexpr size_t kParts = sizeof(Whole) / sizeof(Part);
  Whole* const whole = warp.at<Whole>(instruction.at[0]);
  for_lanes(lanes, [&](unsigned lane) {
    Whole value = 0;
    for (size_t part = 0; part < kParts; ++part) {
      value |= Whole(warp.at<Part>(instruction.at[1 + part])[lane]) << (8 * sizeof(Part) * part);
    }
    whole[lane] = value;
  });
}

template <class Whole, class Part>
Handler* parts(bool unpack) {
  return unpack ? &unpack_parts<Whole, Part> : &pack_parts<Whole, Part>;
}

}  // namespace

Operation arithmetic(const Statement& statement) {
  std::string type = statement.opcode.back();
  if (statement.opcode[0] == "mov" && type == "f32") type = "b32";
  if (statement.opcode[0] == "cvta" && !statement.has("to")) return {};
  return of_integer(type, [&]<class T>(T) {
    const Operation found = bits<T>(statement.opcode[0]);
    return found.run != nullptr ? found : integer<T>(statement);
  });
}

Handler* packing(size_t whole_bytes, size_t part_bytes, bool unpack) {
  if (whole_bytes == 4 && part_bytes == 2) return parts<uint32_t, uint16_t>(unpack);
  if (whole_bytes == 8 && part_bytes == 4) return parts<uint64_t, uint32_t>(unpack);
  if (whole_bytes == 8 && part_bytes == 2) return parts<uint64_t, uint16_t>(unpack);
  return nullptr;
}

}  // namespace norite::ptx
