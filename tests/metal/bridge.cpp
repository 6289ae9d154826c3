// SPDX-License-Identifier: MIT
#include "metal/bridge.hpp"

namespace norite::test {

using namespace metal;  // NOLINT: Metal is what this is about

BareMetal::BareMetal(const std::string& text) {
  devices = Object::adopt(runtime()->MTLCopyAllDevices());
  device = Object::retain(msg::object_at_index(devices, 0));
  queue = Object::adopt(msg::new_command_queue(device));
  descriptor = make("MTLCommandBufferDescriptor");
  msg::set_retained_references(descriptor, false);
  Id error = nullptr;
  const std::string whole = "#pragma METAL fp contract(off)\n" + text;
  library =
      Object::adopt(msg::new_library(device, string_of(whole), make("MTLCompileOptions"), &error));
  if (library == nullptr) throw std::runtime_error(description_of(error));
  function = Object::adopt(msg::new_function(library, string_of("k")));
  const Object pipeline_descriptor = make("MTLComputePipelineDescriptor");
  msg::set_compute_function(pipeline_descriptor, function);
  Id found = nullptr;
  pipeline = Object::adopt(msg::new_pipeline(device, pipeline_descriptor, 3, &found, &error));
  reflection = Object::retain(found);
}

Object BareMetal::buffer(unsigned long bytes) const {
  return Object::adopt(msg::new_buffer(device, bytes, MTLResourceStorageModeShared));
}

Id BareMetal::command_buffer() const { return msg::command_buffer(queue, descriptor); }

Id BareMetal::encoder(Id command_buffer) {
  return msg::compute_encoder(command_buffer, MTLDispatchTypeConcurrent);
}

}  // namespace norite::test
