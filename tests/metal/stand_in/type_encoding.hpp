// SPDX-License-Identifier: MIT
// The signature of a method as Objective-C writes it: "Q@:" for an NSUInteger from nothing.
#pragma once

#include <string>
#include <type_traits>

#include "backends/metal/messages.hpp"

namespace norite::test {

template <class T>
std::string encoded() {
  if constexpr (std::is_void_v<T>) return "v";
  if constexpr (std::is_same_v<T, bool>) return "B";
  if constexpr (std::is_same_v<T, double>) return "d";
  if constexpr (std::is_same_v<T, metal::NSInteger>) return "q";
  if constexpr (std::is_same_v<T, metal::NSUInteger>) return "Q";
  if constexpr (std::is_same_v<T, unsigned long long>) return "Q";
  if constexpr (std::is_same_v<T, const char*>) return "*";
  if constexpr (std::is_same_v<T, void*> || std::is_same_v<T, const void*>) return "^v";
  if constexpr (std::is_same_v<T, metal::Sel>) return ":";
  if constexpr (std::is_same_v<T, metal::Id*>) return "^@";
  if constexpr (std::is_same_v<T, metal::MTLSize>) return "{?=QQQ}";
  if constexpr (std::is_same_v<T, metal::NSOperatingSystemVersion>) return "{?=qqq}";
  if constexpr (std::is_pointer_v<T>) return "@";  // an object
}

template <class R, class... Arguments>
std::string encoded_signature() {
  std::string text = encoded<R>() + "@:";
  ((text += encoded<Arguments>()), ...);
  return text;
}

}  // namespace norite::test
