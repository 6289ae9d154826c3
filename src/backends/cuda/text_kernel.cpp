// SPDX-License-Identifier: MIT
#include "backends/cuda/text_kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "msl/parameters.hpp"
#include "msl/shim/cuda_abi.h"
#include "msl/source.hpp"

namespace norite::cuda {

struct TextKernel::Read {
  msl::Module module;
  msl::ConstantValues constants;
  const msl::Kernel* entry;  // of the module
};

bool KernelForm::by_value(const msl::NvrtcParameter& buffer) const {
  return buffer.kind == msl::NvrtcParameter::Kind::value &&
         module->buffer_bytes(buffer.index) <= norite_msl::kMaxValueBytes;
}

TextKernel::TextKernel(std::shared_ptr<const core::Backend> backend, Origin origin, KernelForm form,
                       std::vector<Parameter> parameters, core::GridRules rules)
    : PipelineState(std::move(backend), origin.source.entry(), std::move(parameters), {},
                    std::move(rules)),
      origin_(std::move(origin)),
      by_value_(std::move(form)) {}

Result<TextKernel::Read> TextKernel::read(const core::KernelSource& source, const KernelId& id) {
  NORITE_TRY_ASSIGN(msl::Module module, msl::parse(msl::source_of(source), id.specialisation));
  NORITE_TRY_ASSIGN(auto constants, msl::constant_values(module, id.constants));
  Read result{std::move(module), std::move(constants), nullptr};
  NORITE_TRY_ASSIGN(result.entry, msl::find_kernel(result.module, source.entry()));
  return result;
}

Result<KernelForm> TextKernel::compile(const Origin& origin, const Read& read,
                                       msl::References references) {
  NORITE_TRY_ASSIGN(const std::string lowered,
                    msl::lower_for_nvrtc(read.module, *read.entry, read.constants, references));
  NORITE_TRY_ASSIGN(const std::string image,
                    origin.compiler->compile(origin.source.entry(), lowered));
  KernelForm form;
  const Current current(*origin.context);
  auto loaded = KernelModule::load(origin.context, image);
  if (!loaded) {
    return fail(loaded.error().code,
                fmt::format("kernel \"{}\": {}", origin.source.entry(), loaded.error().message));
  }
  form.module = *std::move(loaded);
  form.buffers = msl::nvrtc_parameters(read.module, *read.entry, read.constants, references);
  form.cooperative = read.module.definition_of(*read.entry).cooperative > 0;
  form.waits_for_turn = origin.compiler->capability >= msl::kWaitsForTurn;
  return form;
}

Result<std::shared_ptr<const core::PipelineState>> TextKernel::make(
    std::shared_ptr<const core::Backend> backend, std::shared_ptr<Context> context,
    std::shared_ptr<const Compiler> compiler, const core::KernelSource& source,
    const KernelId& id) {
  Origin origin{std::move(context), std::move(compiler), source, id};
  NORITE_TRY_ASSIGN(const Read text, read(source, id));
  NORITE_TRY_ASSIGN(KernelForm form, compile(origin, text, msl::References::by_value));

  auto parameters = msl::pipeline_parameters(text.module, *text.entry, text.constants);
  for (size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].min_bytes = static_cast<int64_t>(form.module->buffer_bytes(i));
  }
  auto rules = msl::grid_rules(text.module, *text.entry);
  const int64_t most = form.module->max_threads();
  rules.max_threads_per_group =
      rules.max_threads_per_group > 0 ? std::min(rules.max_threads_per_group, most) : most;
  return std::shared_ptr<const core::PipelineState>(
      new TextKernel(std::move(backend), std::move(origin), std::move(form), std::move(parameters),
                     std::move(rules)));
}

Result<const KernelForm*> TextKernel::form_for(const core::Command& command) const {
  const bool fits = std::ranges::none_of(by_value_.buffers, [&](const auto& buffer) {
    return by_value_.by_value(buffer) && command.arguments[buffer.index].view();
  });
  if (fits) return &by_value_;
  const std::scoped_lock lock(mutex_);
  if (!by_pointer_) {
    auto form = read(origin_.source, origin_.id).and_then([&](const Read& found) {
      return compile(origin_, found, msl::References::by_pointer);
    });
    if (!form && !core::is_lasting(form.error())) return tl::unexpected<Error>(form.error());
    by_pointer_ = std::move(form);
  }
  if (!*by_pointer_) return tl::unexpected<Error>(by_pointer_->error());
  return &**by_pointer_;
}

}  // namespace norite::cuda
