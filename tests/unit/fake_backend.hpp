// SPDX-License-Identifier: MIT
#pragma once

#include "core/backend.hpp"

namespace norite::test {

/// A device that can do nothing; a test overrides the one thing it is about.
class FakeBackend : public core::Backend {
 public:
  FakeBackend() {
    info_.id = "fake";
    info_.limits.max_buffer_bytes = 1000;
  }

  const DeviceInfo& info() const noexcept override { return info_; }
  Result<std::shared_ptr<core::Storage>> allocate(int64_t) override { return refused(); }
  Result<void> write(core::Storage&, int64_t, std::span<const std::byte>) override {
    return refused();
  }
  Result<void> read(const core::Storage&, int64_t, std::span<std::byte>) override {
    return refused();
  }
  Result<void> fill_zero(core::Storage&) override { return refused(); }
  NativeFunction native_builtin(std::string_view) const override { return {}; }
  bool runs_native() const noexcept override { return false; }
  Result<std::shared_ptr<const core::PipelineState>> compile(const core::KernelSource&,
                                                             const KernelId&) override {
    return refused();
  }
  Result<void> submit(core::CommandList, std::shared_ptr<core::Completion>) override {
    return refused();
  }
  void wait_idle() override {}

 private:
  static tl::unexpected<Error> refused() { return fail(Code::unsupported, "a fake device"); }

  DeviceInfo info_;
};

}  // namespace norite::test
