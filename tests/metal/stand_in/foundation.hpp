// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "metal/stand_in/objects.hpp"

namespace norite::stand_in {

struct String : Instance {
  String();
  explicit String(std::string value);
  std::string text;
  void die() override { std::string().swap(text); }
};

struct Array : Instance {
  explicit Array(std::vector<Hold<Instance>> values);
  std::vector<Hold<Instance>> elements;
  void die() override { elements.clear(); }
};

/// An NSError, which may list the encoders of a command buffer.
struct Error : Instance {
  Error(NSInteger error_code, std::string text);
  NSInteger code;
  std::string description;
  Hold<Array> encoders;
  void die() override { encoders = {}; }
};

/// Reads a string that a caller gave.
std::string text_of(Id string);
/// Hands out an error through a parameter, as Objective-C does.
void set_error(Id* target, Error* error);

/// An object with nothing but a label.
extern const ClassInfo kLabelled;

}  // namespace norite::stand_in
