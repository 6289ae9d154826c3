// SPDX-License-Identifier: MIT
// What kind of number a type is.
#pragma once
#include "shim/types.h"

namespace norite_msl {

// Which family a scalar belongs to; 0 for everything that is no scalar.
enum ScalarKind { kNoScalar, kBool, kSigned, kUnsigned, kFloating };
template <class T>
inline constexpr ScalarKind kScalar = kNoScalar;
template <>
inline constexpr ScalarKind kScalar<bool> = kBool;
template <>
inline constexpr ScalarKind kScalar<char> = kSigned;
template <>
inline constexpr ScalarKind kScalar<signed char> = kSigned;
template <>
inline constexpr ScalarKind kScalar<short> = kSigned;
template <>
inline constexpr ScalarKind kScalar<int> = kSigned;
template <>
inline constexpr ScalarKind kScalar<long> = kSigned;
template <>
inline constexpr ScalarKind kScalar<long long> = kSigned;
template <>
inline constexpr ScalarKind kScalar<uchar> = kUnsigned;
template <>
inline constexpr ScalarKind kScalar<ushort> = kUnsigned;
template <>
inline constexpr ScalarKind kScalar<uint> = kUnsigned;
template <>
inline constexpr ScalarKind kScalar<ulong> = kUnsigned;
template <>
inline constexpr ScalarKind kScalar<unsigned long long> = kUnsigned;
template <>
inline constexpr ScalarKind kScalar<half> = kFloating;
template <>
inline constexpr ScalarKind kScalar<bfloat> = kFloating;
template <>
inline constexpr ScalarKind kScalar<float> = kFloating;
template <>
inline constexpr ScalarKind kScalar<double> = kFloating;

}  // namespace norite_msl
