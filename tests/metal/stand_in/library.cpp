// SPDX-License-Identifier: MIT
// MTLLibrary, MTLFunction, MTLComputePipelineState and what describes them. Text is compiled by the
// CPU's executor.
#include "metal/stand_in/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "metal/stand_in/settings.hpp"
#include "norite/float16.hpp"

namespace norite::stand_in {

namespace {

struct CompileOptions : Instance {
  CompileOptions();
  bool fast_math = true;  // as Metal has it
};

struct ConstantValues : Instance {
  ConstantValues();
  FunctionConstants values;  // by index
};

struct Library : Instance {
  Library(Gpu* on, std::string source, KernelFileInfo file_info);
  void die() override {
    gpu = {};
    compiled.clear();
  }
  Hold<Gpu> gpu;
  std::string text;
  KernelFileInfo info;
  std::map<std::string, norite::Pipeline> compiled;  // those that wait for no constants
};

struct Function : Instance {
  Function(norite::Pipeline compiled, KernelInfo kernel_info);
  void die() override { kernel = {}; }
  norite::Pipeline kernel;
  KernelInfo info;
};

struct PipelineDescriptor : Instance {
  PipelineDescriptor();
  void die() override { function = {}; }
  Hold<Function> function;
};

struct Reflection : Instance {
  explicit Reflection(Hold<Array> values);
  void die() override { bindings = {}; }
  Hold<Array> bindings;
};

struct Binding : Instance {
  Binding(NSUInteger at, NSUInteger bytes);
  NSUInteger index, data_size;
};

// --- Text --------------------------------------------------------------------------------------

/// Contraction is always off here, and the words for it would stand in the way of finding kernels
/// that were compiled before.
std::string without_contraction(std::string text) {
  constexpr std::string_view kWords = "#pragma METAL fp contract(off)";
  const size_t at = text.find(kWords);
  if (at == std::string::npos)
    breach("kernel text allows products and sums to be fused");
  else
    text.erase(at, kWords.size());
  return text;
}

Result<norite::Pipeline> compile(Gpu& gpu, const std::string& text, const std::string& kernel,
                                 const FunctionConstants& constants) {
  static std::atomic<int> count = 0;
  const std::string name = fmt::format("{} {}", kernel, count++);
  KernelText source(text, "program_source");
  source.entry = kernel;
  KernelRegistry& registry = gpu.machine().registry();
  NORITE_TRY(registry.register_source(name, std::move(source)));
  return registry.get_pipeline({.name = name, .constants = constants});
}

/// Text is refused when a library is made of it, not when a function is asked for.
Result<void> compile_all(Library& library) {
  if (!library.info.constants.empty()) return {};
  for (const KernelInfo& kernel : library.info.kernels) {
    NORITE_TRY_ASSIGN(library.compiled[kernel.name],
                      compile(*library.gpu.get(), library.text, kernel.name, {}));
  }
  return {};
}

Error* as_error(const norite::Error& error) {
  return new Error(3, error.log.empty() ? error.message : error.log);
}

void set_fast_math(CompileOptions* self, Sel, bool on) { self->fast_math = on; }
void set_math_mode(CompileOptions* self, Sel, NSInteger mode) { self->fast_math = mode != 0; }
void set_math_functions(CompileOptions*, Sel, NSInteger functions) {
  if (functions != 1) breach("setMathFloatingPointFunctions: not the precise ones");
}
void set_language_version(CompileOptions*, Sel, NSUInteger version) {
  if (version != metal::MTLLanguageVersion3_1) breach("setLanguageVersion: not 3.1");
}

// --- Functions ---------------------------------------------------------------------------------

template <class T>
std::string number(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  if constexpr (std::is_same_v<T, Float16>)
    return fmt::format("{}", to_float(value));
  else
    return fmt::format("{}", value);
}

std::string constant_text(const void* value, NSUInteger type) {
  switch (type) {
    case metal::MTLDataTypeBool:
      return number<bool>(value);
    case metal::MTLDataTypeFloat:
      return number<float>(value);
    case metal::MTLDataTypeHalf:
      return number<Float16>(value);
    case metal::MTLDataTypeChar:
      return std::to_string(*static_cast<const int8_t*>(value));
    case metal::MTLDataTypeUChar:
      return std::to_string(*static_cast<const uint8_t*>(value));
    case metal::MTLDataTypeShort:
      return number<int16_t>(value);
    case metal::MTLDataTypeUShort:
      return number<uint16_t>(value);
    case metal::MTLDataTypeInt:
      return number<int32_t>(value);
    case metal::MTLDataTypeUInt:
      return number<uint32_t>(value);
    case metal::MTLDataTypeLong:
      return number<int64_t>(value);
    case metal::MTLDataTypeULong:
      return number<uint64_t>(value);
    default:
      breach(fmt::format("setConstantValue: of type {}", type));
      return "0";
  }
}

void set_constant(ConstantValues* self, Sel, const void* value, NSUInteger type, NSUInteger index) {
  self->values[std::to_string(index)] = constant_text(value, type);
}

Id function_of(Library* self, const std::string& name, const FunctionConstants& constants,
               Id* error) {
  const auto found = std::ranges::find(self->info.kernels, name, &KernelInfo::name);
  if (found == self->info.kernels.end()) return nullptr;
  const auto known = self->compiled.find(name);
  if (known != self->compiled.end()) return id_of(new Function(known->second, *found));
  auto kernel = compile(*self->gpu.get(), self->text, name, constants);
  if (kernel) return id_of(new Function(*std::move(kernel), *found));
  set_error(error, as_error(kernel.error()));
  return nullptr;
}
Id new_function(Library* self, Sel, Id name) {
  if (!self->info.constants.empty()) {
    breach("newFunctionWithName: for a library that has function constants");
  }
  return function_of(self, text_of(name), {}, nullptr);
}
Id new_function_with_constants(Library* self, Sel, Id name, Id values, Id* error) {
  return function_of(self, text_of(name), from_id<ConstantValues>(values)->values, error);
}

// --- Pipelines ---------------------------------------------------------------------------------

void set_compute_function(PipelineDescriptor* self, Sel, Id function) {
  self->function = Hold<Function>(from_id<Function>(function));
}
NSUInteger max_threads(Pipeline* self, Sel) { return self->max_threads(); }
NSUInteger execution_width(Pipeline*, Sel) { return stand_in_metal()->execution_width; }
NSUInteger static_threadgroup_memory(Pipeline*, Sel) {
  return stand_in_metal()->static_threadgroup_bytes;
}
Id bindings(Reflection* self, Sel) { return id_of(self->bindings.get()); }
NSInteger binding_type(Binding*, Sel) { return metal::MTLBindingTypeBuffer; }
NSUInteger binding_index(Binding* self, Sel) { return self->index; }
NSUInteger buffer_data_size(Binding* self, Sel) { return self->data_size; }

Reflection* reflect(const norite::Pipeline& kernel) {
  std::vector<Hold<Instance>> all;
  for (size_t i = 0; i < kernel.parameters().size(); ++i) {
    const Parameter& parameter = kernel.parameters()[i];
    if (parameter.access == Access::none || parameter.optional) continue;
    auto* const binding = new Binding(i, static_cast<NSUInteger>(parameter.min_bytes));
    all.emplace_back(binding);
    binding->release();
  }
  auto* const array = new Array(std::move(all));
  auto* const reflection = new Reflection(Hold<Array>(array));
  array->release();
  return reflection;
}

template <class T>
Instance* make() {
  return new T;
}

const ClassInfo kCompileOptions = ClassInfo("MTLCompileOptions", &kObject, make<CompileOptions>)
                                      .with("setLanguageVersion:", set_language_version)
                                      .with("setFastMathEnabled:", set_fast_math);
const ClassInfo kCompileOptions15 = ClassInfo("MTLCompileOptions", &kCompileOptions)
                                        .with("setMathMode:", set_math_mode)
                                        .with("setMathFloatingPointFunctions:", set_math_functions);
const ClassInfo kConstantValues =
    ClassInfo("MTLFunctionConstantValues", &kObject, make<ConstantValues>)
        .with("setConstantValue:type:atIndex:", set_constant);
const ClassInfo kLibrary =
    ClassInfo("MTLLibrary", &kLabelled)
        .with("newFunctionWithName:", new_function)
        .with("newFunctionWithName:constantValues:error:", new_function_with_constants);
const ClassInfo kFunction = ClassInfo("MTLFunction", &kLabelled);
const ClassInfo kDescriptor =
    ClassInfo("MTLComputePipelineDescriptor", &kLabelled, make<PipelineDescriptor>)
        .with("setComputeFunction:", set_compute_function);
const ClassInfo kPipeline = ClassInfo("MTLComputePipelineState", &kObject)
                                .with("maxTotalThreadsPerThreadgroup", max_threads)
                                .with("threadExecutionWidth", execution_width)
                                .with("staticThreadgroupMemoryLength", static_threadgroup_memory);
const ClassInfo kReflection =
    ClassInfo("MTLComputePipelineReflection", &kObject).with("bindings", bindings);
const ClassInfo kBinding = ClassInfo("MTLBufferBinding", &kObject)
                               .with("type", binding_type)
                               .with("index", binding_index)
                               .with("bufferDataSize", buffer_data_size);
const PublicClass public_options(kCompileOptions), public_constants(kConstantValues),
    public_descriptor(kDescriptor);

CompileOptions::CompileOptions()
    : Instance(stand_in_metal()->system_major >= 15 ? kCompileOptions15 : kCompileOptions) {}
ConstantValues::ConstantValues() : Instance(kConstantValues) {}
Library::Library(Gpu* on, std::string source, KernelFileInfo file_info)
    : Instance(kLibrary), gpu(on), text(std::move(source)), info(std::move(file_info)) {}
Function::Function(norite::Pipeline compiled, KernelInfo kernel_info)
    : Instance(kFunction), kernel(std::move(compiled)), info(std::move(kernel_info)) {}
PipelineDescriptor::PipelineDescriptor() : Instance(kDescriptor) {}
Reflection::Reflection(Hold<Array> values) : Instance(kReflection), bindings(std::move(values)) {}
Binding::Binding(NSUInteger at, NSUInteger bytes)
    : Instance(kBinding), index(at), data_size(bytes) {}

}  // namespace

Pipeline::Pipeline(norite::Pipeline compiled, KernelInfo kernel_info)
    : Instance(kPipeline), kernel(std::move(compiled)), info(std::move(kernel_info)) {}

NSUInteger Pipeline::max_threads() const {
  const NSUInteger most = stand_in_metal()->max_threads;
  const auto own = static_cast<NSUInteger>(info.max_threads_per_group);
  return own > 0 ? std::min(own, most) : most;
}

void Pipeline::die() {
  if (uses > 0) breach("an MTLComputePipelineState is released before the work that uses it");
  kernel = {};
}

Id new_library(Gpu* self, Sel, Id source, Id options, Id* error) {
  auto& settings = *stand_in_metal();
  const auto refuse = [&](Error* why) {
    set_error(error, why);
    return nullptr;
  };
  {
    const std::scoped_lock lock(books());
    settings.fast_math |= options == nullptr || from_id<CompileOptions>(options)->fast_math;
    settings.texts.push_back(text_of(source));
    if (!settings.compile_error.empty()) return refuse(new Error(3, settings.compile_error));
  }
  std::string text = without_contraction(text_of(source));
  auto info = inspect_kernels(KernelText(text, "program_source"));
  if (!info) return refuse(as_error(info.error()));
  auto* const library = new Library(self, std::move(text), *std::move(info));
  if (auto compiled = compile_all(*library); !compiled) {
    library->release();
    return refuse(as_error(compiled.error()));
  }
  return id_of(library);
}

Id new_pipeline(Gpu*, Sel, Id descriptor, NSUInteger options, Id* reflection, Id*) {
  const Hold<Function>& function = from_id<PipelineDescriptor>(descriptor)->function;
  if (!function) {
    breach("newComputePipelineStateWithDescriptor: without a function");
    return nullptr;
  }
  if (options != 3) breach("newComputePipelineStateWithDescriptor: reflection is incomplete");
  if (reflection != nullptr) *reflection = autoreleased(reflect(function->kernel));
  return id_of(new Pipeline(function->kernel, function->info));
}

}  // namespace norite::stand_in
