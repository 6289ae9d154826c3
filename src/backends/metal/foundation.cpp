// SPDX-License-Identifier: MIT
#include "backends/metal/foundation.hpp"

namespace norite::metal {

Object string_of(std::string_view text) {
  const auto made = [&](NSUInteger encoding) {
    return Object::adopt(msg::init_with_bytes(msg::alloc(class_named("NSString")), text.data(),
                                              text.size(), encoding));
  };
  Object string = made(NSUTF8StringEncoding);
  return string != nullptr ? string : made(NSISOLatin1StringEncoding);
}

std::string text_of(Id string) {
  if (string == nullptr) return {};
  const char* const text = msg::utf8_string(string);
  return text == nullptr ? std::string() : text;
}

std::string description_of(Id error) {
  return error == nullptr ? "no reason given" : text_of(msg::localized_description(error));
}

void set_label(Id object, std::string_view label) { msg::set_label(object, string_of(label)); }

}  // namespace norite::metal
