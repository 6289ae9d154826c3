// SPDX-License-Identifier: MIT
// Strings and arrays of Objective-C's, to and from ours. All want an AutoreleasePool around them.
#pragma once

#include <string>
#include <string_view>

#include "backends/metal/messages.hpp"
#include "backends/metal/objc.hpp"

namespace norite::metal {

/// Text that is not UTF-8 is taken byte by byte: labels may be anything.
[[nodiscard]] Object string_of(std::string_view text);
/// Empty for null.
[[nodiscard]] std::string text_of(Id string);

/// Calls body(element) for each element of an NSArray; none for null.
template <class Body>
void for_each(Id array, const Body& body) {
  const NSUInteger size = array == nullptr ? 0 : msg::count(array);
  for (NSUInteger i = 0; i < size; ++i) body(msg::object_at_index(array, i));
}

/// What an NSError says, or that there was none.
[[nodiscard]] std::string description_of(Id error);

/// Names an object for those who look at it in Xcode.
void set_label(Id object, std::string_view label);

}  // namespace norite::metal
