// SPDX-License-Identifier: MIT
#include "cases/values.hpp"

#include <norite/float16.hpp>

#include <cmath>
#include <cstring>
#include <limits>

namespace norite::cases {
namespace {

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

/// splitmix64: every seed gives a sequence of full period.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [-1, 1), variance 1/3.
  double uniform() { return static_cast<double>(static_cast<int64_t>(next())) * 0x1p-63; }
  /// Three uniforms: variance 1, tails cut at 3, and no library function that may differ.
  double normal() { return uniform() + uniform() + uniform(); }

 private:
  uint64_t state_;
};

/// A large value whose square, summed over a row, still fits in f32.
double huge_value(DType dtype) { return dtype == DType::f16 ? 30000.0 : 1e15; }

/// A few steps above zero, where the dtype has lost most of its bits.
double subnormal_value(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 5 * 0x1p-24;
    case DType::bf16:
      return 5 * 0x1p-133;
    default:
      return 5 * 0x1p-149;
  }
}

void make_special_row(std::span<double> row, uint64_t kind, DType dtype, Random& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double& one = row[random.next() % row.size()];
  switch (kind) {
    case 1:
      one = std::numeric_limits<double>::quiet_NaN();
      break;
    case 2:
      one = kInfinity;
      break;
    case 3:
      one = -kInfinity;
      break;
    case 4:
      for (double& value : row) value *= subnormal_value(dtype);
      break;
    case 5:
      for (double& value : row) value = -0.0;
      break;
    case 6:
      for (double& value : row) value *= huge_value(dtype);
      break;
    case 7:
      for (double& value : row) value *= (random.next() & 1) != 0 ? 1e3 : 1e-3;
      break;
    default:
      break;
  }
}

template <class T>
void store(std::byte* target, T value) {
  std::memcpy(target, &value, sizeof(T));
}

template <class T>
T load(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

/// How numbers lie in memory.
template <class T>
struct Plain {
  static double read(const std::byte* element) { return load<T>(element); }
  static void write(double value, std::byte* element) { store(element, static_cast<T>(value)); }
};
struct Half {
  static double read(const std::byte* element) {
    return to_float(Float16{load<uint16_t>(element)});
  }
  static void write(double value, std::byte* element) {
    store(element, to_float16(static_cast<float>(value)).bits);
  }
};
struct Brain {
  static double read(const std::byte* element) {
    return to_float(BFloat16{load<uint16_t>(element)});
  }
  static void write(double value, std::byte* element) {
    store(element, to_bfloat16(static_cast<float>(value)).bits);
  }
};

/// Calls use(storage) once for all elements: asking for each takes longer than reading it.
template <class Use>
void with_storage(DType dtype, Use use) {
  switch (dtype) {
    case DType::f32:
      return use(Plain<float>());
    case DType::f16:
      return use(Half());
    case DType::bf16:
      return use(Brain());
    case DType::i32:
      return use(Plain<int32_t>());
    case DType::u32:
      return use(Plain<uint32_t>());
    case DType::i16:
      return use(Plain<int16_t>());
    case DType::u16:
      return use(Plain<uint16_t>());
    case DType::i8:
      return use(Plain<int8_t>());
    case DType::u8:
      return use(Plain<uint8_t>());
  }
}

}  // namespace

Values random_values(std::string_view seed, int64_t count) {
  Random random(fnv1a(seed));
  Values values(static_cast<size_t>(count));
  for (double& value : values) value = random.normal();
  return values;
}

void make_special(Values& values, int64_t dim, DType dtype, std::string_view seed) {
  Random random(fnv1a(seed));
  uint64_t kind = random.next();
  const auto length = static_cast<size_t>(dim);
  for (size_t begin = 0; begin + length <= values.size(); begin += length) {
    make_special_row(std::span(values).subspan(begin, length), kind++ % 8, dtype, random);
  }
}

double round_to(DType dtype, double value) {
  std::byte element[8];
  with_storage(dtype, [&](auto storage) { storage.write(value, element); });
  return decode(dtype, element);
}

std::vector<std::byte> encode(DType dtype, std::span<const double> values) {
  const auto step = static_cast<size_t>(size_of(dtype));
  std::vector<std::byte> bytes(values.size() * step);
  with_storage(dtype, [&](auto storage) {
    for (size_t i = 0; i < values.size(); ++i) storage.write(values[i], &bytes[i * step]);
  });
  return bytes;
}

void decode(DType dtype, const std::byte* first, int64_t step_bytes, std::span<double> to) {
  with_storage(dtype, [&](auto storage) {
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = storage.read(first + static_cast<int64_t>(i) * step_bytes);
    }
  });
}

double decode(DType dtype, const std::byte* element) {
  double value = 0;
  decode(dtype, element, 0, {&value, 1});
  return value;
}

}  // namespace norite::cases
