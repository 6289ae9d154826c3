// SPDX-License-Identifier: MIT
// What tests of the runtime share: results that must be there, errors that must be told apart.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "norite/device.hpp"

namespace norite::test {

/// The value of a result; an error ends the test with its message.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

/// The result is an error of that code whose message has every one of these words.
template <class T>
void expect_error(const Result<T>& result, Code code,
                  std::initializer_list<std::string_view> words = {}) {
  if (result) {
    ADD_FAILURE() << "succeeded, expected " << name(code);
    return;
  }
  EXPECT_EQ(name(result.error().code), name(code)) << result.error().message;
  for (const std::string_view word : words) {
    EXPECT_NE(result.error().message.find(word), std::string::npos)
        << '"' << word << "\" is missing in: " << result.error().message;
  }
}

/// The result is invalid_argument, and its message says what was expected and these words.
template <class T>
void expect_refused(const Result<T>& result, std::initializer_list<std::string_view> words = {}) {
  expect_error(result, Code::invalid_argument, words);
  expect_error(result, Code::invalid_argument, {", expected "});
}

/// A library that is on every machine and has nothing that anyone looks for.
#ifdef __APPLE__
inline constexpr const char* kOtherLibrary = "/usr/lib/libSystem.B.dylib";
#else
inline constexpr const char* kOtherLibrary = "libm.so.6";
#endif

inline Device null_device() { return must(Device::open("null")); }

inline Device cpu_device(int threads = 2) {
  return must(Device::open("cpu", {.threads = threads}));
}

/// How many of something, which takes the stand-in that executes kernels (tests/cuda/ptx) a
/// thousand times as long as a GPU.
inline int64_t as_many_on(const Device& device, int64_t on_gpu, int64_t on_stand_in) {
  return device.info().name == "Stand-in GPU" ? on_stand_in : on_gpu;
}

template <class T>
std::vector<T> contents(const Buffer& buffer) {
  std::vector<T> values(static_cast<size_t>(buffer.size_bytes()) / sizeof(T));
  must(buffer.read(std::as_writable_bytes(std::span(values))));
  return values;
}

template <class T>
Buffer buffer_of(const Device& device, DType dtype, const std::vector<T>& values) {
  Buffer buffer = must(device.empty(dtype, {static_cast<int64_t>(values.size())}));
  must(buffer.write(std::as_bytes(std::span(values))));
  return buffer;
}

/// Registers host code under a name and returns its pipeline.
inline Pipeline native(const Device& device, std::string name, std::vector<Parameter> parameters,
                       NativeFunction run) {
  must(device.registry().register_native({name, std::move(parameters), std::move(run)}));
  return must(device.registry().get_pipeline({.name = std::move(name)}));
}

/// A kernel that computes nothing, for tests of what is recorded.
inline Pipeline idle_kernel(const Device& device, std::string name,
                            std::vector<Parameter> parameters) {
  return native(device, std::move(name), std::move(parameters),
                [](const NativeCall&) -> Result<void> { return {}; });
}

}  // namespace norite::test
