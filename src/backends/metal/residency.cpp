// SPDX-License-Identifier: MIT
#include "backends/metal/residency.hpp"

#include "backends/metal/foundation.hpp"

namespace norite::metal {

Residency::Residency(Id device, Id queue) {
  if (class_named("MTLResidencySetDescriptor") == nullptr) return;
  const Object descriptor = make("MTLResidencySetDescriptor");
  set_label(descriptor, "Norite's buffers");
  Id error = nullptr;
  set_ = Object::adopt(msg::new_residency_set(device, descriptor, &error));
  // Refused, it is not missed: buffers then are what they are on older systems.
  if (set_ != nullptr) msg::add_residency_set(queue, set_);
}

void Residency::add(Id buffer) {
  const std::scoped_lock lock(mutex_);
  if (set_ == nullptr) return;
  msg::add_allocation(set_, buffer);
  changed_ = true;
}

void Residency::remove(Id buffer) {
  const std::scoped_lock lock(mutex_);
  if (set_ == nullptr) return;
  msg::remove_allocation(set_, buffer);
  msg::commit(set_);  // at once: the buffer is about to go
  changed_ = false;
}

void Residency::settle() {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(changed_, false)) msg::commit(set_);
}

}  // namespace norite::metal
