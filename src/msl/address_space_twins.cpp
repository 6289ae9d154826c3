// SPDX-License-Identifier: MIT
#include "msl/address_space_twins.hpp"

#include <algorithm>

namespace norite::msl {

void AddressSpaceTwins::see(Range item, const std::string& scope) {
  Range head{item.begin, item.begin};
  while (head.end < item.end && !scan_.is(head.end, "{") && !scan_.is(head.end, ";")) {
    head.end = std::min(scan_.skip(head.end), item.end);
  }
  const auto begin = module_.text.tokens.begin();
  const bool qualified = std::any_of(
      begin + static_cast<ptrdiff_t>(head.begin), begin + static_cast<ptrdiff_t>(head.end),
      [](const Token& token) { return is_address_space(token.text); });
  const std::string key = scope + ' ' + erased_head(head);
  const Head written{scan_.text(head), qualified};
  const auto [known, first] = seen_.try_emplace(key, written);
  if (first || known->second.text == written.text) return;
  if (qualified || known->second.qualified) module_.address_space_twins[item.begin] = item.end;
}

std::string AddressSpaceTwins::erased_head(Range head) const {
  const Range parameters = scan_.parameter_list(head.begin, head.end);
  std::string key;
  if (parameters.empty()) {
    append(key, head);
    return key;
  }
  append(key, {head.begin, parameters.begin});
  for (const Range part : scan_.split({parameters.begin + 1, parameters.end - 1})) {
    Range type = part;
    for (size_t i = part.begin; i < part.end; i = scan_.skip(i)) {
      if (scan_.is(i, "=") || scan_.attributes_at(i)) {
        type.end = i;
        break;
      }
    }
    const bool named = type.end > type.begin + 1 && scan_.is_identifier(type.end - 1) &&
                       !scan_.is(type.end - 2, "::");
    append(key, {type.begin, named ? type.end - 1 : type.end});
    key += ',';
  }
  append(key, {parameters.end, head.end});
  return key;
}

// `constant T*` becomes `const T*`: it is a twin of `const device T*`, not of `device T*`.
void AddressSpaceTwins::append(std::string& key, Range range) const {
  for (size_t i = range.begin; i < range.end;) {
    if (scan_.attributes_at(i)) {
      i = scan_.skip(i);
      continue;
    }
    const Token& token = module_.at(i++);
    const bool constant = token.is("constant") && !scan_.is(i, "{") && !scan_.is(i, "=") &&
                          !scan_.is(i, ":") && !scan_.is(i, ";");
    if (constant || token.is("const")) {
      if (!key.ends_with("const ")) key += "const ";
    } else if (!is_address_space(token.text)) {
      key += token.text;
      key += ' ';
    }
  }
}

}  // namespace norite::msl
