// SPDX-License-Identifier: MIT
// Every message has the signature that its receiver's class says it has. On macOS these are Apple's
// own classes: a row of messages.hpp that is wrong is found here before it does harm.
#include <cctype>
#include <regex>

#include "metal/bridge.hpp"
#include "metal/stand_in/type_encoding.hpp"

namespace norite::test {
namespace {

using namespace metal;  // NOLINT: Metal is what this is about

/// Functions of Objective-C's that only this test needs.
template <class Function>
Function* objc(const char* name) {
  static void* const library =
      ::dlopen(std::getenv("NORITE_METAL_RUNTIME") != nullptr ? std::getenv("NORITE_METAL_RUNTIME")
                                                              : "/usr/lib/libobjc.A.dylib",
               RTLD_NOW);
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

/// Without places in memory, qualifiers and names of structs.
std::string plain(std::string encoding) {
  encoding = std::regex_replace(encoding, std::regex("\\{[^=]*="), "{?=");
  std::erase_if(encoding, [](unsigned char c) {
    return std::isdigit(c) ||
           std::string_view("rnNoORV").find(static_cast<char>(c)) != std::string_view::npos;
  });
  return encoding;
}

std::string signature_of(Id object, Sel selector) {
  const void* info = objc<const void*(Id)>("object_getClass")(object);
  const void* method =
      objc<const void*(const void*, Sel)>("class_getInstanceMethod")(info, selector);
  if (method == nullptr) return "no such method";
  return plain(objc<const char*(const void*)>("method_getTypeEncoding")(method));
}

template <class R, class... Arguments>
void expect_one(Id object, const Message<R(Arguments...)>& message) {
  EXPECT_EQ(signature_of(object, message.selector()), (encoded_signature<R, Arguments...>()))
      << message.name();
}

template <class... Signatures>
void expect_understood(Id object, const Message<Signatures>&... messages) {
  ASSERT_NE(object, nullptr);
  (expect_one(object, messages), ...);
}

class SignaturesTest : public AnyMetalTest {
 protected:
  void SetUp() override {
    AnyMetalTest::SetUp();
    if (!IsSkipped()) pool_.emplace();
  }
  std::optional<AutoreleasePool> pool_;
};

TEST_F(SignaturesTest, foundation) {
  expect_understood(class_named("NSString"), msg::alloc);
  expect_understood(string_of("text"), msg::init, msg::init_with_bytes, msg::utf8_string,
                    msg::responds_to);
  const Id process = msg::process_info(class_named("NSProcessInfo"));
  expect_understood(class_named("NSProcessInfo"), msg::process_info);
  expect_understood(process, msg::is_at_least_version, msg::version_string);
  const Object devices = Object::adopt(runtime()->MTLCopyAllDevices());
  expect_understood(devices, msg::count, msg::object_at_index);
}

TEST_F(SignaturesTest, errors) {
  const Object devices = Object::adopt(runtime()->MTLCopyAllDevices());
  Id error = nullptr;
  const auto library = Object::adopt(
      msg::new_library(msg::object_at_index(devices, 0),
                       string_of("#pragma METAL fp contract(off)\nkernel void k() { missing(); }"),
                       make("MTLCompileOptions"), &error));
  EXPECT_EQ(Id(library), nullptr);
  expect_understood(error, msg::code, msg::localized_description, msg::user_info);
  EXPECT_NE(text_of(msg::localized_description(error)).find("missing"), std::string::npos);
}

TEST_F(SignaturesTest, device_and_pipeline) {
  const BareMetal metal("kernel void k(device int* x [[buffer(0)]]) { x[0] = 1; }");
  expect_understood(metal.device, msg::device_name, msg::supports_family, msg::max_buffer_length,
                    msg::max_threadgroup_memory, msg::working_set_size, msg::allocated_size,
                    msg::new_command_queue, msg::new_buffer, msg::new_library, msg::new_pipeline);
  expect_understood(metal.buffer(16), msg::contents);
  expect_understood(make("MTLCompileOptions"), msg::set_language_version, msg::set_fast_math);
  expect_understood(metal.library, msg::new_function, msg::new_function_with_constants,
                    msg::set_label);
  expect_understood(make("MTLFunctionConstantValues"), msg::set_constant);
  expect_understood(make("MTLComputePipelineDescriptor"), msg::set_compute_function,
                    msg::set_label);
  expect_understood(metal.pipeline, msg::max_threads, msg::execution_width,
                    msg::static_threadgroup_memory);
  expect_understood(metal.reflection, msg::bindings);
  expect_understood(msg::object_at_index(msg::bindings(metal.reflection), 0), msg::binding_type,
                    msg::binding_index, msg::buffer_data_size);
}

TEST_F(SignaturesTest, commands) {
  const BareMetal metal("kernel void k(device int* x [[buffer(0)]]) { x[0] = 1; }");
  expect_understood(metal.queue, msg::command_buffer, msg::set_label);
  expect_understood(metal.descriptor, msg::set_error_options, msg::set_retained_references);
  const Id buffer = metal.command_buffer();
  expect_understood(buffer, msg::compute_encoder, msg::commit, msg::wait_until_completed,
                    msg::status, msg::error, msg::gpu_start_time, msg::gpu_end_time, msg::set_label,
                    msg::label);
  const Id encoder = BareMetal::encoder(buffer);
  expect_understood(encoder, msg::set_pipeline, msg::set_buffer, msg::set_bytes,
                    msg::set_threadgroup_memory, msg::dispatch_threadgroups, msg::dispatch_threads,
                    msg::memory_barrier, msg::insert_debug_signpost, msg::end_encoding,
                    msg::set_label);
  msg::end_encoding(encoder);
}

TEST_F(SignaturesTest, what_macos_15_has) {
  if (class_named("MTLResidencySetDescriptor") == nullptr) GTEST_SKIP() << "an older macOS";
  const BareMetal metal("kernel void k(device int* x [[buffer(0)]]) { x[0] = 1; }");
  expect_understood(metal.device, msg::new_residency_set);
  expect_understood(metal.queue, msg::add_residency_set);
  const Object descriptor = make("MTLResidencySetDescriptor");
  expect_understood(descriptor, msg::set_label);
  Id error = nullptr;
  const auto set = Object::adopt(msg::new_residency_set(metal.device, descriptor, &error));
  expect_understood(set, msg::add_allocation, msg::remove_allocation, msg::commit);
  expect_understood(make("MTLCompileOptions"), msg::set_math_mode, msg::set_math_functions);
}

}  // namespace
}  // namespace norite::test
