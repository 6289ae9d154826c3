// SPDX-License-Identifier: MIT
#include "backends/cuda/kernel_module.hpp"

#include <fmt/format.h>

namespace norite::cuda {

namespace {

/// Errors of an image that this driver or GPU will never run.
bool is_unfit(CUresult error) {
  return error == CUDA_ERROR_INVALID_IMAGE || error == CUDA_ERROR_NO_BINARY_FOR_GPU ||
         error == CUDA_ERROR_INVALID_PTX || error == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

}  // namespace

Result<std::shared_ptr<const KernelModule>> KernelModule::load(std::shared_ptr<Context> context,
                                                               const std::string& image) {
  std::shared_ptr<KernelModule> module(new KernelModule(std::move(context)));
  const Driver& driver = module->context_->driver();
  const CUresult error = driver.cuModuleLoadData(&module->module_, image.data());
  if (is_unfit(error)) {
    return fail(Code::unsupported,
                fmt::format("the driver cannot load it: {}", driver.describe(error)));
  }
  NORITE_TRY(module->context_->check(error, "loading a kernel"));
  NORITE_TRY(module->find_entry());
  NORITE_TRY(module->allow_shared_memory());
  NORITE_TRY(module->read_buffer_bytes());
  return module;
}

KernelModule::~KernelModule() {
  if (module_ == nullptr) return;
  const Current current(*context_);
  context_->driver().cuModuleUnload(module_);
}

Result<void> KernelModule::find_entry() {
  const Driver& driver = context_->driver();
  NORITE_TRY(context_->check(driver.cuModuleGetFunction(&function_, module_, "norite_msl_entry"),
                             "finding a kernel's entry"));
  return context_->check(
      driver.cuFuncGetAttribute(&max_threads_, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function_),
      "asking for a kernel's threads");
}

// Beyond 48 KiB a kernel has to say so; what it may take and does not costs nothing.
Result<void> KernelModule::allow_shared_memory() {
  const Driver& driver = context_->driver();
  int own_bytes = 0;
  NORITE_TRY(context_->check(
      driver.cuFuncGetAttribute(&own_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function_),
      "asking for a kernel's shared memory"));
  NORITE_TRY_ASSIGN(const int most,
                    context_->attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  max_dynamic_bytes_ = most - own_bytes;
  return context_->check(
      driver.cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                most - own_bytes),
      "setting a kernel's shared memory");
}

Result<void> KernelModule::read_buffer_bytes() {
  const Driver& driver = context_->driver();
  CUdeviceptr table = 0;
  size_t bytes = 0;
  NORITE_TRY(context_->check(
      driver.cuModuleGetGlobal_v2(&table, &bytes, module_, "norite_msl_buffer_bytes"),
      "finding a kernel's buffer sizes"));
  if (bytes != sizeof buffer_bytes_) {
    return fail(Code::internal, fmt::format("a kernel's buffer sizes have {} bytes, expected {}",
                                            bytes, sizeof buffer_bytes_));
  }
  return context_->check(driver.cuMemcpyDtoH_v2(buffer_bytes_.data(), table, bytes),
                         "reading a kernel's buffer sizes");
}

}  // namespace norite::cuda
