// SPDX-License-Identifier: MIT
// Exports the functions of libcuda.so.1 that the CUDA backend takes. What is put on a stream is
// done when the call returns, unless it is captured.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "backends/cuda/cuda_api.hpp"
#include "cuda/stand_in/capture.hpp"
#include "cuda/stand_in/computing.hpp"
#include "cuda/stand_in/settings.hpp"

using namespace norite::cuda;  // NOLINT: the names of the API are the point

namespace {

std::recursive_mutex mutex;
thread_local std::vector<CUcontext> current;  // of this thread, the latest last
std::set<CUcontext> busy;                     // something was launched there
std::map<CUcontext, int> faults;              // from here on the answer to everything there
norite::ptx::Allocations allocations;         // of the GPU's memory

/// What a call answers before it does anything.
CUresult answer(const char* function) {
  auto& settings = *stand_in_cuda();
  if (settings.failing == function && settings.calls_before-- <= 0) return settings.error;
  return CUDA_SUCCESS;
}

/// Of a call that needs a context.
CUresult answer_in_context(const char* function) {
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  const auto fault = faults.find(current.back());
  return fault != faults.end() ? fault->second : answer(function);
}

CUresult take(void** memory, size_t bytes) {
  constexpr size_t kAlignment = 512;  // as a driver has it
  *memory = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (*memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(*memory, 0xAB, bytes);
  ++stand_in_cuda()->live_allocations;
  return CUDA_SUCCESS;
}

CUresult give_back(void* memory) {
  std::free(memory);
  --stand_in_cuda()->live_allocations;
  return CUDA_SUCCESS;
}

void* host(CUdeviceptr memory) { return reinterpret_cast<void*>(memory); }

CUresult take_device_memory(CUdeviceptr* memory, size_t bytes) {
  void* taken = nullptr;
  if (const CUresult error = take(&taken, bytes)) return error;
  *memory = reinterpret_cast<CUdeviceptr>(taken);
  allocations[*memory] = bytes;
  return CUDA_SUCCESS;
}

/// Whether some of the GPU's memory is there.
bool allocated(CUdeviceptr memory) {
  const auto behind = allocations.upper_bound(memory);
  if (behind == allocations.begin()) return false;
  const auto& [begin, bytes] = *std::prev(behind);
  return memory - begin < bytes;
}

CUresult give_back_device_memory(CUdeviceptr memory) {
  allocations.erase(memory);
  return give_back(host(memory));
}

template <class Handle>
Handle some(int value) {
  return reinterpret_cast<Handle>(static_cast<intptr_t>(value));
}

/// No two streams or events are the same.
template <class Handle>
Handle another() {
  static int made = 100;
  return some<Handle>(++made);
}

norite::test::Captures captures;
using norite::test::Nodes;

template <class Handle>
Nodes& nodes_of(Handle handle) {
  return *reinterpret_cast<Nodes*>(handle);
}

template <class Handle>
void make_nodes(Handle* handle, const Nodes& nodes) {
  *handle = reinterpret_cast<Handle>(new Nodes(nodes));
  ++stand_in_cuda()->live_graphs;
}

template <class Handle>
void drop_nodes(Handle handle) {
  delete &nodes_of(handle);
  --stand_in_cuda()->live_graphs;
}

/// Modules that compute; others are no pointers.
std::map<CUmodule, std::unique_ptr<norite::test::ComputingModule>> computing;

norite::test::ComputingModule* computing_module(void* handle) {
  const auto found = computing.find(static_cast<CUmodule>(handle));
  return found == computing.end() ? nullptr : found->second.get();
}

int number_from(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}

norite::test::StandInCuda from_environment() {
  norite::test::StandInCuda settings;
  if (const char* const multiprocessors = std::getenv("STAND_IN_CUDA_COMPUTES")) {
    settings.computes = true;
    settings.multiprocessors = std::atoi(multiprocessors);
    settings.capability = number_from("STAND_IN_CUDA_CAPABILITY", 99);
    norite::test::seed_computing(static_cast<uint64_t>(number_from("STAND_IN_CUDA_SEED", 1)));
  }
  return settings;
}

}  // namespace

norite::test::StandInCuda* stand_in_cuda() {
  static norite::test::StandInCuda settings = from_environment();
  return &settings;
}

void stand_in_cuda_reset() {
  const std::scoped_lock lock(mutex);
  const long live = stand_in_cuda()->live_allocations;
  *stand_in_cuda() = from_environment();
  stand_in_cuda()->live_allocations = live;
  captures = {};
  busy.clear();
  faults.clear();
}

#define STAND_IN(name, ...)                                                     \
  extern "C" __attribute__((visibility("default"))) CUresult name(__VA_ARGS__); \
  CUresult name(__VA_ARGS__)
#define ANSWER()                      \
  const std::scoped_lock lock(mutex); \
  if (const CUresult said = answer(__func__)) return said
#define ANSWER_IN_CONTEXT()           \
  const std::scoped_lock lock(mutex); \
  if (const CUresult said = answer_in_context(__func__)) return said

STAND_IN(cuInit, unsigned) {
  ANSWER();
  if (std::getenv("STAND_IN_CUDA_TELLS") != nullptr) std::fputs("the driver started\n", stderr);
  return CUDA_SUCCESS;
}
STAND_IN(cuDriverGetVersion, int* version) {
  ANSWER();
  *version = stand_in_cuda()->driver_version;
  return CUDA_SUCCESS;
}
STAND_IN(cuGetErrorName, CUresult error, const char** name) {
  static const std::map<CUresult, const char*> names = {
      {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS"},
      {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT"},
      {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
      {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"}};
  const auto found = names.find(error);
  *name = found == names.end() ? nullptr : found->second;
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
STAND_IN(cuGetErrorString, CUresult error, const char** text) {
  *text =
      error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : nullptr;
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
STAND_IN(cuDeviceGetCount, int* count) {
  ANSWER();
  const char* const asked = std::getenv("STAND_IN_CUDA_DEVICES");  // by a test in another process
  *count = asked != nullptr ? std::atoi(asked) : stand_in_cuda()->devices;
  return CUDA_SUCCESS;
}
STAND_IN(cuDeviceGet, CUdevice* device, int ordinal) {
  ANSWER();
  *device = ordinal;
  return CUDA_SUCCESS;
}
STAND_IN(cuDeviceGetName, char* name, int bytes, CUdevice) {
  ANSWER();
  std::strncpy(name, "Stand-in GPU", static_cast<size_t>(bytes));
  return CUDA_SUCCESS;
}
STAND_IN(cuDeviceTotalMem_v2, size_t* bytes, CUdevice) {
  ANSWER();
  *bytes = size_t{8} << 30;
  return CUDA_SUCCESS;
}
STAND_IN(cuDeviceGetAttribute, int* value, int attribute, CUdevice) {
  ANSWER();
  const auto& settings = *stand_in_cuda();
  *value = attribute == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK      ? 1024
           : attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? settings.multiprocessors
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? settings.capability / 10
           : attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? settings.capability % 10
           : attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? 232448
           : attribute == CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH                ? 1
           : attribute == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED ? int{settings.pools}
                                                                     : 0;
  return CUDA_SUCCESS;
}
STAND_IN(cuDevicePrimaryCtxRetain, CUcontext* context, CUdevice device) {
  ANSWER();
  *context = some<CUcontext>(device + 1);
  return CUDA_SUCCESS;
}
STAND_IN(cuDevicePrimaryCtxRelease_v2, CUdevice) { return CUDA_SUCCESS; }
STAND_IN(cuCtxPushCurrent_v2, CUcontext context) {
  current.push_back(context);
  return CUDA_SUCCESS;
}
STAND_IN(cuCtxPopCurrent_v2, CUcontext* context) {
  if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = current.back();
  current.pop_back();
  return CUDA_SUCCESS;
}
STAND_IN(cuMemGetInfo_v2, size_t* free, size_t* total) {
  *free = 1000;
  *total = 2000;
  return CUDA_SUCCESS;
}
STAND_IN(cuMemAlloc_v2, CUdeviceptr* memory, size_t bytes) {
  ANSWER_IN_CONTEXT();
  return take_device_memory(memory, bytes);
}
STAND_IN(cuMemFree_v2, CUdeviceptr memory) {
  const std::scoped_lock lock(mutex);
  return give_back_device_memory(memory);
}
STAND_IN(cuMemAllocAsync, CUdeviceptr* memory, size_t bytes, CUstream) {
  ANSWER_IN_CONTEXT();
  return take_device_memory(memory, bytes);
}
STAND_IN(cuMemFreeAsync, CUdeviceptr memory, CUstream) {
  const std::scoped_lock lock(mutex);
  return give_back_device_memory(memory);
}
STAND_IN(cuMemAllocHost_v2, void** memory, size_t bytes) {
  ANSWER_IN_CONTEXT();
  return take(memory, bytes);
}
STAND_IN(cuMemFreeHost, void* memory) {
  const std::scoped_lock lock(mutex);
  return give_back(memory);
}
STAND_IN(cuMemsetD8Async, CUdeviceptr target, unsigned char value, size_t bytes, CUstream) {
  ANSWER_IN_CONTEXT();
  std::memset(host(target), value, bytes);
  return CUDA_SUCCESS;
}
STAND_IN(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  ANSWER_IN_CONTEXT();
  return captures.put(stream, true, [=] {
    std::memcpy(host(to), from, bytes);
    return CUDA_SUCCESS;
  });
}
STAND_IN(cuMemcpyDtoHAsync_v2, void* to, CUdeviceptr from, size_t bytes, CUstream) {
  ANSWER_IN_CONTEXT();
  std::memcpy(to, host(from), bytes);
  return CUDA_SUCCESS;
}
STAND_IN(cuMemcpyDtoH_v2, void* to, CUdeviceptr from, size_t bytes) {
  ANSWER_IN_CONTEXT();
  std::memcpy(to, host(from), bytes);
  return CUDA_SUCCESS;
}
STAND_IN(cuStreamCreate, CUstream* stream, unsigned) {
  ANSWER_IN_CONTEXT();
  *stream = another<CUstream>();
  return CUDA_SUCCESS;
}
STAND_IN(cuStreamDestroy_v2, CUstream) { return CUDA_SUCCESS; }
STAND_IN(cuStreamSynchronize, CUstream) {
  ANSWER_IN_CONTEXT();
  return CUDA_SUCCESS;
}
STAND_IN(cuEventCreate, CUevent* event, unsigned) {
  ANSWER_IN_CONTEXT();
  *event = another<CUevent>();
  return CUDA_SUCCESS;
}
STAND_IN(cuEventDestroy_v2, CUevent) { return CUDA_SUCCESS; }
STAND_IN(cuEventRecord, CUevent event, CUstream stream) {
  ANSWER_IN_CONTEXT();
  captures.record(event, stream);
  return CUDA_SUCCESS;
}
STAND_IN(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned) {
  ANSWER_IN_CONTEXT();
  captures.wait(stream, event);
  return CUDA_SUCCESS;
}
STAND_IN(cuEventSynchronize, CUevent) {
  if (stand_in_cuda()->on_wait) stand_in_cuda()->on_wait();
  const std::scoped_lock lock(mutex);
  const int fault = stand_in_cuda()->fault_after_launch;
  if (fault != 0 && !current.empty() && busy.contains(current.back())) {
    faults[current.back()] = fault;
  }
  return answer_in_context(__func__);
}
STAND_IN(cuEventElapsedTime, float* milliseconds, CUevent, CUevent) {
  *milliseconds = 0.25F;
  return CUDA_SUCCESS;
}
STAND_IN(cuModuleLoadData, CUmodule* module, const void* image) {
  ANSWER_IN_CONTEXT();
  *module = some<CUmodule>(4);
  if (!norite::test::is_ptx(image)) return CUDA_SUCCESS;
  auto loaded = norite::test::load_ptx(static_cast<const char*>(image));
  if (loaded == nullptr) return CUDA_ERROR_INVALID_VALUE;  // not what a GPU is unfit for
  for (const auto& [name, words] : loaded->kernel->globals) {
    allocations[reinterpret_cast<CUdeviceptr>(words.data())] =
        loaded->kernel->global_bytes.at(name);
  }
  *module = reinterpret_cast<CUmodule>(loaded.get());
  computing[*module] = std::move(loaded);
  return CUDA_SUCCESS;
}
STAND_IN(cuModuleUnload, CUmodule module) {
  const std::scoped_lock lock(mutex);
  if (const auto* const own = computing_module(module)) {
    for (const auto& [name, words] : own->kernel->globals) {
      allocations.erase(reinterpret_cast<CUdeviceptr>(words.data()));
    }
    computing.erase(module);
  }
  return CUDA_SUCCESS;
}
STAND_IN(cuModuleGetFunction, CUfunction* function, CUmodule module, const char*) {
  ANSWER_IN_CONTEXT();
  *function = some<CUfunction>(5);
  if (computing_module(module)) *function = reinterpret_cast<CUfunction>(module);
  return CUDA_SUCCESS;
}
STAND_IN(cuModuleGetGlobal_v2, CUdeviceptr* memory, size_t* bytes, CUmodule module,
         const char* name) {
  ANSWER_IN_CONTEXT();
  if (const auto* const own = computing_module(module)) {
    const auto found = own->kernel->globals.find(name);
    if (found == own->kernel->globals.end()) return CUDA_ERROR_INVALID_VALUE;
    *memory = reinterpret_cast<CUdeviceptr>(found->second.data());
    *bytes = own->kernel->global_bytes.at(name);
    return CUDA_SUCCESS;
  }
  auto& table = stand_in_cuda()->buffer_bytes;
  *memory = reinterpret_cast<CUdeviceptr>(table.data());
  *bytes = sizeof table;
  return CUDA_SUCCESS;
}
STAND_IN(cuFuncGetAttribute, int* value, int attribute, CUfunction function) {
  ANSWER_IN_CONTEXT();
  const bool shared = attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
  *value = shared ? stand_in_cuda()->own_shared_bytes : 1024;
  if (const auto* const own = computing_module(function)) {
    const norite::ptx::Kernel& kernel = *own->kernel;
    *value = static_cast<int>(shared ? kernel.shared_bytes : kernel.max_threads);
  }
  return CUDA_SUCCESS;
}
STAND_IN(cuFuncSetAttribute, CUfunction function, int attribute, int value) {
  ANSWER_IN_CONTEXT();
  auto* const own = computing_module(function);
  if (own != nullptr && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    own->asked_bytes = static_cast<size_t>(value);
  }
  return CUDA_SUCCESS;
}
STAND_IN(cuLaunchKernelEx, const CUlaunchConfig* config, CUfunction function, void** parameters,
         void**) {
  ANSWER_IN_CONTEXT();
  auto& settings = *stand_in_cuda();
  std::function<CUresult()> work = [] { return CUDA_SUCCESS; };
  if (const auto* const own = computing_module(function)) {
    const auto multiprocessors = static_cast<unsigned>(settings.multiprocessors);
    auto launch = norite::test::prepare_launch(*own, *config, parameters, multiprocessors);
    if (launch.refused != CUDA_SUCCESS) return launch.refused;
    // What goes wrong on a GPU is what later calls answer.
    work = [launch = std::move(launch.work), context = current.back()] {
      if (const CUresult fault = launch(allocations)) faults[context] = fault;
      return CUDA_SUCCESS;
    };
  }
  busy.insert(current.back());
  if (settings.computes) return captures.put(config->hStream, false, std::move(work));
  std::vector<int> attributes;
  for (unsigned i = 0; i < config->numAttrs; ++i) attributes.push_back(config->attrs[i].id);
  settings.launches.push_back({{config->gridDimX, config->gridDimY, config->gridDimZ},
                               {config->blockDimX, config->blockDimY, config->blockDimZ},
                               config->sharedMemBytes,
                               config->hStream,
                               parameters,
                               std::move(attributes)});
  if (settings.on_launch) settings.on_launch(settings.launches.back());
  settings.launches.back().parameters = nullptr;
  return captures.put(config->hStream, false, std::move(work));
}
STAND_IN(cuStreamBeginCapture_v2, CUstream stream, int) {
  ANSWER_IN_CONTEXT();
  captures.begin(stream);
  return CUDA_SUCCESS;
}
STAND_IN(cuStreamEndCapture, CUstream stream, CUgraph* graph) {
  const std::scoped_lock lock(mutex);
  const auto nodes = captures.end(stream);
  if (const CUresult said = answer_in_context(__func__)) return said;
  if (!nodes) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  stand_in_cuda()->nodes = *nodes;
  make_nodes(graph, *nodes);
  return CUDA_SUCCESS;
}
STAND_IN(cuGraphDestroy, CUgraph graph) {
  const std::scoped_lock lock(mutex);
  drop_nodes(graph);
  return CUDA_SUCCESS;
}
STAND_IN(cuGraphInstantiateWithFlags, CUgraphExec* exec, CUgraph graph, unsigned long long) {
  ANSWER_IN_CONTEXT();
  make_nodes(exec, nodes_of(graph));
  ++stand_in_cuda()->instantiated;
  return CUDA_SUCCESS;
}
STAND_IN(cuGraphExecUpdate_v2, CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  ANSWER_IN_CONTEXT();
  if (!stand_in_cuda()->updates_graphs ||
      !norite::test::same_shape(nodes_of(exec), nodes_of(graph))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  nodes_of(exec) = nodes_of(graph);
  ++stand_in_cuda()->updated;
  return CUDA_SUCCESS;
}
STAND_IN(cuGraphExecDestroy, CUgraphExec exec) {
  const std::scoped_lock lock(mutex);
  drop_nodes(exec);
  return CUDA_SUCCESS;
}
STAND_IN(cuGraphLaunch, CUgraphExec exec, CUstream) {
  ANSWER_IN_CONTEXT();
  busy.insert(current.back());
  ++stand_in_cuda()->graph_launches;
  return norite::test::launch(nodes_of(exec));
}
STAND_IN(cuPointerGetAttribute, void* value, int, CUdeviceptr memory) {
  ANSWER();
  const bool known = allocated(memory) || !stand_in_cuda()->computes;
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  const int device = memory == stand_in_cuda()->foreign ? 7 : 0;
  std::memcpy(value, &device, sizeof device);
  return CUDA_SUCCESS;
}
