// SPDX-License-Identifier: MIT
#pragma once

#include <norite/error.hpp>
#include <norite/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace norite {

/// One tensor of a file, in the file's own bytes: little-endian, row-major, of any alignment.
struct SafetensorsTensor {
  /// As the file spells it, one of: F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL.
  std::string_view dtype;
  Shape shape;
  /// Exactly the bytes that dtype and shape describe; valid as long as a copy of the file lives.
  std::span<const std::byte> data;
};

/// A safetensors file, read into memory and checked as a whole before anything is handed out: the
/// header is one JSON object without repeated keys, and the tensors tile the data without gap or
/// overlap. Copies share the memory. May be shared between threads.
class NORITE_API SafetensorsFile {
 public:
  /// Longest header that is read, in bytes.
  static constexpr uint64_t kMaxHeaderBytes = 100'000'000;

  /// Errors: not_found (no such file), out_of_memory, bad_file (anything else; the message says
  /// why).
  [[nodiscard]] static Result<SafetensorsFile> open(const std::filesystem::path& path);
  /// The same from a file's bytes, which are copied.
  [[nodiscard]] static Result<SafetensorsFile> parse(std::span<const std::byte> bytes);

  /// The header's `__metadata__`, empty where it has none.
  [[nodiscard]] const std::map<std::string, std::string>& metadata() const noexcept;
  /// Every tensor's name, sorted.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Errors: not_found.
  [[nodiscard]] Result<SafetensorsTensor> find(std::string_view name) const;

 private:
  struct Contents;
  explicit SafetensorsFile(std::shared_ptr<const Contents> contents) noexcept
      : contents_(std::move(contents)) {}
  std::shared_ptr<const Contents> contents_;
};

}  // namespace norite
