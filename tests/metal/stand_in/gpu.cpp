// SPDX-License-Identifier: MIT
// MTLDevice, MTLBuffer and MTLResidencySet.
#include "metal/stand_in/gpu.hpp"

#include <cstring>

#include "metal/stand_in/commands.hpp"
#include "metal/stand_in/exported.hpp"
#include "metal/stand_in/library.hpp"
#include "metal/stand_in/settings.hpp"

namespace norite::stand_in {

namespace {

struct ResidencySetDescriptor : Instance {
  ResidencySetDescriptor();
};

/// Changes count when they are committed.
struct ResidencySet : Instance {
  ResidencySet();
  void die() override;
  std::set<Buffer*> members, staged;
};

Id name(Gpu*, Sel) { return autoreleased(new String("Stand-in for Metal, computing on the CPU")); }
bool supports_family(Gpu*, Sel, NSInteger family) {
  return stand_in_metal()->apple_family > 0 && family <= 1000 + stand_in_metal()->apple_family;
}
NSUInteger max_buffer_length(Gpu*, Sel) {
  return static_cast<NSUInteger>(stand_in_metal()->memory_bytes / 2);
}
NSUInteger max_threadgroup_memory(Gpu*, Sel) { return 32768; }
unsigned long long working_set_size(Gpu*, Sel) {
  return static_cast<unsigned long long>(stand_in_metal()->memory_bytes);
}
NSUInteger allocated_size(Gpu* self, Sel) { return static_cast<NSUInteger>(self->allocated_bytes); }

Id new_command_queue(Gpu* self, Sel) { return id_of(new Queue(self)); }

Id new_buffer(Gpu* self, Sel, NSUInteger length, NSUInteger options) {
  if (length == 0) breach("newBufferWithLength: 0 bytes");
  if (options != 0) breach("newBufferWithLength: storage that host and GPU do not share");
  const auto bytes = static_cast<int64_t>(length);
  const std::scoped_lock lock(books());
  if (self->allocated_bytes + bytes > stand_in_metal()->memory_bytes) return nullptr;
  auto memory = self->machine().empty(DType::u8, {bytes});
  if (!memory) return nullptr;
  std::memset(memory->host_data(), 0xCD, length);  // Metal promises nothing about what is in it
  self->allocated_bytes += bytes;
  return id_of(new Buffer(self, *std::move(memory)));
}
void* contents(Buffer* self, Sel) { return self->memory.host_data(); }

Id new_residency_set(Gpu*, Sel, Id descriptor, Id*) {
  if (descriptor == nullptr) breach("newResidencySetWithDescriptor: without a descriptor");
  return id_of(new ResidencySet);
}
void add_allocation(ResidencySet* self, Sel, Id buffer) {
  const std::scoped_lock lock(books());
  if (!self->staged.insert(from_id<Buffer>(buffer)).second) {
    return breach("addAllocation: twice for the same buffer");
  }
  ++from_id<Buffer>(buffer)->memberships;
}
void remove_allocation(ResidencySet* self, Sel, Id buffer) {
  const std::scoped_lock lock(books());
  auto* const member = from_id<Buffer>(buffer);
  if (self->staged.erase(member) == 0) {
    return breach("removeAllocation: for a buffer that is not in the set");
  }
  if (!self->members.contains(member)) --member->memberships;
}
void commit_set(ResidencySet* self, Sel) {
  const std::scoped_lock lock(books());
  for (Buffer* buffer : self->members) {
    if (!self->staged.contains(buffer)) --buffer->memberships;
  }
  self->members = self->staged;
  stand_in_metal()->resident_buffers = static_cast<int64_t>(self->members.size());
}

Instance* make_set_descriptor() { return new ResidencySetDescriptor; }

const ClassInfo kGpu =
    ClassInfo("MTLDevice", &kLabelled)
        .with("name", name)
        .with("supportsFamily:", supports_family)
        .with("maxBufferLength", max_buffer_length)
        .with("maxThreadgroupMemoryLength", max_threadgroup_memory)
        .with("recommendedMaxWorkingSetSize", working_set_size)
        .with("currentAllocatedSize", allocated_size)
        .with("newCommandQueue", new_command_queue)
        .with("newBufferWithLength:options:", new_buffer)
        .with("newLibraryWithSource:options:error:", new_library)
        .with("newComputePipelineStateWithDescriptor:options:reflection:error:", new_pipeline)
        .with("newResidencySetWithDescriptor:error:", new_residency_set);
const ClassInfo kBuffer = ClassInfo("MTLBuffer", &kLabelled).with("contents", contents);
const ClassInfo kSetDescriptor =
    ClassInfo("MTLResidencySetDescriptor", &kLabelled, make_set_descriptor);
const ClassInfo kSet = ClassInfo("MTLResidencySet", &kLabelled)
                           .with("addAllocation:", add_allocation)
                           .with("removeAllocation:", remove_allocation)
                           .with("commit", commit_set);
const PublicClass public_set_descriptor(kSetDescriptor, 15);

ResidencySetDescriptor::ResidencySetDescriptor() : Instance(kSetDescriptor) {}
ResidencySet::ResidencySet() : Instance(kSet) {}
void ResidencySet::die() {
  if (!members.empty()) breach("an MTLResidencySet with buffers in it is released");
}

}  // namespace

Gpu::Gpu() : Instance(kGpu) {}

const Device& Gpu::machine() {
  std::call_once(opened_, [this] { machine_ = *Device::open("cpu"); });
  return *machine_;
}

Buffer::Buffer(Gpu* on, norite::Buffer bytes)
    : Instance(kBuffer), gpu(on), memory(std::move(bytes)) {}

void Buffer::die() {
  const std::scoped_lock lock(books());
  if (uses > 0) breach("an MTLBuffer is released before the work that uses it has ended");
  if (memberships > 0) breach("an MTLBuffer is released that a residency set still has");
  gpu->allocated_bytes -= memory.size_bytes();
  memory = {};
  gpu = {};
}

}  // namespace norite::stand_in

using namespace norite::stand_in;  // NOLINT: the exported names are the point

// A device is the same object for everyone, as long as anyone holds it.
STAND_IN(Id, MTLCopyAllDevices) {
  static std::map<int, Gpu*> known;
  const std::scoped_lock lock(books());
  std::vector<Hold<Instance>> gpus;
  for (int i = 0; i < stand_in_metal()->devices; ++i) {
    Gpu*& gpu = known[i];
    const bool made = gpu == nullptr || gpu->dead();
    if (made) gpu = new Gpu;
    gpus.emplace_back(gpu);
    if (made) gpu->release();  // the array holds it
  }
  return id_of(new Array(std::move(gpus)));
}
