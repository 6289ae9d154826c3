// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace norite::core {

class Backend;

/// One allocation of a backend. Buffers share it; destroying it gives the memory back.
class Storage {
 public:
  Storage(std::shared_ptr<Backend> backend, int64_t size_bytes, std::byte* host_data) noexcept
      : backend_(std::move(backend)), size_bytes_(size_bytes), host_data_(host_data) {}
  virtual ~Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  [[nodiscard]] Backend& backend() const noexcept { return *backend_; }
  [[nodiscard]] int64_t size_bytes() const noexcept { return size_bytes_; }
  /// Where the host addresses the memory; nullptr where it cannot.
  [[nodiscard]] std::byte* host_data() const noexcept { return host_data_; }
  /// Whether the memory is someone else's, who may look at it when no buffer is left.
  [[nodiscard]] virtual bool foreign() const noexcept { return false; }
  /// Whether its owner forbids writing.
  [[nodiscard]] bool read_only() const noexcept { return read_only_; }
  /// Before anyone else has it.
  void forbid_writing() noexcept { read_only_ = true; }

 private:
  std::shared_ptr<Backend> backend_;  // outlives its memory
  int64_t size_bytes_;
  std::byte* host_data_;
  bool read_only_ = false;
};

}  // namespace norite::core
