// SPDX-License-Identifier: MIT
#pragma once

/// A function that whoever loads the stand-in finds by its name.
#define STAND_IN(result, name, ...)                                           \
  extern "C" __attribute__((visibility("default"))) result name(__VA_ARGS__); \
  result name(__VA_ARGS__)
