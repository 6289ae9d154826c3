// SPDX-License-Identifier: MIT
#include "norite/kernel_registry.hpp"

#include <fmt/format.h>

#include <future>
#include <mutex>
#include <unordered_map>
#include <variant>

#include "core/backend.hpp"
#include "core/kernel_key.hpp"
#include "core/pipeline.hpp"

namespace norite {

const std::string& Pipeline::name() const noexcept {
  static const std::string none;
  return state_ ? state_->name() : none;
}

const std::vector<Parameter>& Pipeline::parameters() const noexcept {
  static const std::vector<Parameter> none;
  return state_ ? state_->parameters() : none;
}

struct KernelRegistry::Impl {
  using Compiled = Result<Pipeline>;
  // Kernel text waits for its first use; a native kernel is a pipeline from the start.
  using Entry = std::variant<std::shared_ptr<const core::KernelSource>, Pipeline>;

  Result<void> add(std::string name, Entry entry) {
    if (name.empty()) {
      return fail(Code::invalid_argument, "registry: a kernel without a name, expected one");
    }
    const std::scoped_lock lock(mutex);
    if (entries.contains(name)) {
      return fail(Code::already_exists,
                  fmt::format("registry: a kernel named \"{}\" is registered already", name));
    }
    entries.emplace(std::move(name), std::move(entry));
    return {};
  }

  std::shared_ptr<core::Backend> backend;
  mutable std::mutex mutex;
  std::map<std::string, Entry, std::less<>> entries;
  std::map<KernelId, std::shared_future<Compiled>> compiled;
  std::unordered_map<core::KernelKey, Pipeline, core::KernelKeyHash> by_key;  // compiled ones
};

KernelRegistry::KernelRegistry(std::shared_ptr<core::Backend> backend)
    : impl_(std::make_unique<Impl>()) {
  impl_->backend = std::move(backend);
}

KernelRegistry::~KernelRegistry() = default;

Result<void> KernelRegistry::register_source(std::string name, KernelText source) {
  return register_source(core::KernelSource{std::move(name), std::move(source)});
}

Result<void> KernelRegistry::register_source(core::KernelSource source) {
  NORITE_TRY(impl_->backend->check_open("registry"));
  if (source.text.text.empty()) {
    return fail(Code::invalid_argument,
                fmt::format("registry: kernel \"{}\" has no text, expected some", source.name));
  }
  std::string name = source.name;
  if (source.text.file.empty()) source.text.file = source.entry() + ".metal";
  return impl_->add(std::move(name), std::make_shared<const core::KernelSource>(std::move(source)));
}

Result<void> KernelRegistry::register_native(NativeKernel kernel) {
  NORITE_TRY(impl_->backend->check_open("registry"));
  if (!kernel.run) {
    return fail(
        Code::invalid_argument,
        fmt::format("registry: native kernel \"{}\" has no function, expected one", kernel.name));
  }
  if (!impl_->backend->runs_native()) {
    return fail(Code::unsupported,
                fmt::format("registry: {} runs no native kernels, \"{}\" must be kernel text",
                            impl_->backend->info().id, kernel.name));
  }
  std::string name = kernel.name;
  Pipeline pipeline(std::make_shared<const core::PipelineState>(
      impl_->backend, std::move(kernel.name), std::move(kernel.parameters), std::move(kernel.run)));
  return impl_->add(std::move(name), std::move(pipeline));
}

Result<Pipeline> KernelRegistry::get_pipeline(const KernelId& id) {
  NORITE_TRY(impl_->backend->check_open("registry"));
  std::unique_lock lock(impl_->mutex);
  const auto entry = impl_->entries.find(id.name);
  if (entry == impl_->entries.end()) {
    return fail(Code::not_found, fmt::format("registry: no kernel named \"{}\" on {}", id.name,
                                             impl_->backend->info().id));
  }
  if (const auto* native = std::get_if<Pipeline>(&entry->second)) {
    if (id.specialisation.empty() && id.constants.empty()) return *native;
    return fail(Code::invalid_argument,
                fmt::format("registry: native kernel \"{}\" with a specialisation, expected none",
                            id.name));
  }
  if (const auto found = impl_->compiled.find(id); found != impl_->compiled.end()) {
    auto pending = found->second;
    lock.unlock();
    return pending.get();
  }
  // First to ask: leave a promise for the others, then compile without the lock.
  const auto source = std::get<std::shared_ptr<const core::KernelSource>>(entry->second);
  std::promise<Impl::Compiled> promise;
  impl_->compiled.emplace(id, promise.get_future().share());
  lock.unlock();
  auto state = impl_->backend->compile(*source, id);
  Impl::Compiled result = state.map([](auto& made) { return Pipeline(std::move(made)); });
  if (!result && !core::is_lasting(result.error())) {
    lock.lock();
    impl_->compiled.erase(id);  // whoever asks next tries again
    lock.unlock();
  }
  promise.set_value(result);
  return result;
}

Result<Pipeline> KernelRegistry::get_planned(const core::KernelKey& key) {
  NORITE_TRY(impl_->backend->check_open("registry"));
  {
    const std::scoped_lock lock(impl_->mutex);
    if (const auto found = impl_->by_key.find(key); found != impl_->by_key.end()) {
      return found->second;
    }
  }
  auto pipeline = get_pipeline(key.id());
  if (pipeline) {
    const std::scoped_lock lock(impl_->mutex);
    impl_->by_key.emplace(key, *pipeline);
  }
  return pipeline;
}

bool KernelRegistry::contains(std::string_view name) const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->entries.contains(name);
}

Pipeline KernelRegistry::native_pipeline(std::string_view name) const {
  if (!impl_->backend->runs_native()) return {};
  const std::scoped_lock lock(impl_->mutex);
  const auto entry = impl_->entries.find(name);
  const auto* native =
      entry == impl_->entries.end() ? nullptr : std::get_if<Pipeline>(&entry->second);
  return native == nullptr ? Pipeline() : *native;
}

std::vector<std::string> KernelRegistry::names() const {
  const std::scoped_lock lock(impl_->mutex);
  std::vector<std::string> result;
  for (const auto& [name, entry] : impl_->entries) result.push_back(name);
  return result;
}

std::vector<KernelId> KernelRegistry::requested() const {
  const std::scoped_lock lock(impl_->mutex);
  std::vector<KernelId> result;
  for (const auto& [id, compiled] : impl_->compiled) result.push_back(id);
  return result;
}

int64_t KernelRegistry::built_count() const { return impl_->backend->built_kernels(); }

int64_t KernelRegistry::compiled_count() const {
  const std::scoped_lock lock(impl_->mutex);
  return static_cast<int64_t>(impl_->compiled.size());
}

}  // namespace norite
