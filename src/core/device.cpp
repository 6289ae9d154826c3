// SPDX-License-Identifier: MIT
#include "norite/device.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/builtin_kernels.hpp"
#include "core/device_state.hpp"
#include "core/env.hpp"
#include "core/kernel_files.hpp"

namespace norite {

namespace core {

Result<void> Backend::check_open(std::string_view operation) const {
  if (!closed_) return {};
  return fail(Code::failed_precondition,
              fmt::format("{}: device {} is closed", operation, info().id));
}

void DeviceState::close() {
  backend_->close();
  backend_->wait_idle();
  pool_.trim();
  const std::scoped_lock lock(sums_mutex_);
  sums_.reset();
}

Result<Buffer> DeviceState::shared_sums(int64_t words) {
  const std::scoped_lock lock(sums_mutex_);
  if (!sums_ || sums_->count() < words) {
    const auto enough = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(words)));
    NORITE_TRY_ASSIGN(Buffer larger, allocate_buffer(*backend_, DType::u32, {enough}));
    sums_ = std::move(larger);
  }
  return *sums_;
}

Result<std::shared_ptr<Storage>> Backend::wrap(uintptr_t, int64_t, std::shared_ptr<void>) {
  return fail(Code::unsupported, fmt::format("{} uses no memory of others", info().id));
}

Result<int64_t> checked_buffer_bytes(const Backend& backend, DType dtype, const Shape& shape) {
  NORITE_TRY(backend.check_open("buffer"));
  const auto count = shape.count();
  int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, size_of(dtype), &bytes)) {
    return fail(Code::invalid_argument,
                fmt::format("buffer: {} of {} is not representable, expected up to {} axes, "
                            "extents >= 1 and fewer than 2^63 bytes",
                            to_string(shape), name(dtype), Shape::kMaxRank));
  }
  if (bytes == 0) {
    return fail(Code::invalid_argument,
                fmt::format("buffer: shape {} is empty, expected extents >= 1", to_string(shape)));
  }
  if (const int64_t limit = backend.info().limits.max_buffer_bytes; bytes > limit) {
    return fail(Code::out_of_memory,
                fmt::format("buffer: {} of {} needs {} bytes, expected at most {} on {}",
                            to_string(shape), name(dtype), bytes, limit, backend.info().id));
  }
  return bytes;
}

Result<Buffer> allocate_buffer(Backend& backend, DType dtype, const Shape& shape) {
  NORITE_TRY_ASSIGN(const int64_t bytes, checked_buffer_bytes(backend, dtype, shape));
  NORITE_TRY_ASSIGN(auto storage, backend.allocate(bytes));
  return Buffer(std::move(storage), dtype, shape);
}

namespace {

std::string usable_ids() {
  std::vector<std::string> ids;
  for (DeviceInfo& info : Device::list()) {
    if (info.usable) ids.push_back(std::move(info.id));
  }
  return fmt::format("{}", fmt::join(ids, ", "));
}

// An id is its backend's name, with ":index" where it is not the first device: "cuda:0" is "cuda".
Result<std::shared_ptr<Backend>> open_backend(std::string_view id, const DeviceOptions& options) {
  for (const BackendEntry& entry : backend_table()) {
    if (!id.empty() && id.substr(0, id.find(':')) != entry.name) continue;
    const auto devices = entry.list();
    for (int index = 0; index < static_cast<int>(devices.size()); ++index) {
      const bool wanted =
          id.empty() ? devices[index].computes
                     : id == devices[index].id || id == fmt::format("{}:{}", entry.name, index);
      if (wanted) return entry.open(index, options);
    }
    if (!id.empty() && std::ranges::none_of(devices, &DeviceInfo::usable)) {
      return entry.open(0, options);  // which says why
    }
  }
  return fail(Code::unavailable,
              fmt::format("device \"{}\" is not available, expected one of: {}", id, usable_ids()));
}

// A built-in kernel's text lies in the file that has its name.
std::optional<EmbeddedFile> find_kernel_file(const std::string& name) {
  for (const EmbeddedFile& file : kernel_files()) {
    if (file.path.ends_with("/" + name + ".metal")) return file;
  }
  return std::nullopt;
}

// Host code where the backend has it, else text.
Result<void> register_builtins(DeviceState& state) {
  for (const BuiltinKernel& kernel : builtin_kernels()) {
    if (NativeFunction run = state.backend().native_builtin(kernel.name)) {
      NORITE_TRY(
          state.registry().register_native({kernel.name, kernel.parameters, std::move(run)}));
    } else if (const auto file = find_kernel_file(kernel.name)) {
      NORITE_TRY(state.registry().register_source(KernelSource{
          kernel.name, KernelText(std::string(file->text), std::string(file->path)), true}));
    }
  }
  return {};
}

}  // namespace

}  // namespace core

Result<Device> Device::open(std::string_view id, const DeviceOptions& options) {
  std::string wanted(id);
  if (wanted.empty()) wanted = core::env::device().value_or("");
  NORITE_TRY_ASSIGN(auto backend, core::open_backend(wanted, options));
  auto state = std::make_shared<core::DeviceState>(std::move(backend));
  NORITE_TRY(core::register_builtins(*state));
  return Device(std::move(state));
}

std::vector<DeviceInfo> Device::list() {
  std::vector<DeviceInfo> devices, others;
  for (const core::BackendEntry& entry : core::backend_table()) {
    for (DeviceInfo& info : entry.list()) {
      (info.usable ? devices : others).push_back(std::move(info));
    }
  }
  std::ranges::move(others, std::back_inserter(devices));
  return devices;
}

std::vector<std::string> Device::backends() {
  std::vector<std::string> names;
  for (const core::BackendEntry& entry : core::backend_table()) names.emplace_back(entry.name);
  return names;
}

// Other backends are not asked: that would start their drivers.
std::vector<std::string> Device::cpu_targets() {
  for (const core::BackendEntry& entry : core::backend_table()) {
    if (entry.name == "cpu") return entry.list().front().cpu_targets;
  }
  return {};
}

const DeviceInfo& Device::info() const noexcept { return state_->backend().info(); }

Result<Buffer> Device::empty(DType dtype, const Shape& shape) const {
  return core::allocate_buffer(state_->backend(), dtype, shape);
}

Encoder Device::encoder(const EncoderOptions& options) const { return {state_, options}; }

KernelRegistry& Device::registry() const noexcept { return state_->registry(); }

Pool& Device::pool() const noexcept { return state_->pool(); }

void Device::close() const { state_->close(); }

}  // namespace norite
