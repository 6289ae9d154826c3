// SPDX-License-Identifier: MIT
// Memory and streams of the caller's on the CUDA backend, on a GPU that is none.
#include "norite/cuda.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "cuda/cuda_support.hpp"

namespace norite {
namespace {

using test::contents;
using test::expect_error;
using test::must;

class CudaInteropTest : public test::CudaTest {
 protected:
  alignas(16) std::array<int32_t, 8> memory_ = {1, 2, 3, 4, 5, 6, 7, 8};  // as good as a GPU's here
};

TEST_F(CudaInteropTest, wrapped_memory_is_used_in_place_and_stays_the_caller_s) {
  auto owner = std::make_shared<int>(0);
  {
    const Device device = must(open());
    Buffer buffer = must(cuda::wrap(device, memory_.data(), DType::i32, {8}, owner));
    EXPECT_EQ(contents<int32_t>(buffer), std::vector<int32_t>(memory_.begin(), memory_.end()));
    const int32_t value = 42;
    must(buffer.write(std::as_bytes(std::span(&value, 1)), 8));
    device.close();  // waits for the copy
    EXPECT_EQ(memory_[2], 42);
    EXPECT_EQ(must(cuda::address(View(buffer))), memory_.data());
    EXPECT_EQ(owner.use_count(), 2);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(CudaInteropTest, what_cannot_be_wrapped) {
  const Device device = must(open());
  const auto wrap = [&](void* address) { return cuda::wrap(device, address, DType::i32, {1}); };
  expect_error(wrap(nullptr), Code::invalid_argument, {"0x0", "16"});
  expect_error(wrap(&memory_[1]), Code::invalid_argument, {"multiple of 16"});
  stand_in().foreign = reinterpret_cast<unsigned long long>(&memory_[4]);
  expect_error(wrap(&memory_[4]), Code::invalid_argument, {"expected memory of cuda"});
  expect_error(cuda::wrap(device, memory_.data(), DType::i32, {0}), Code::invalid_argument);
  const Device cpu = must(Device::open("cpu"));
  expect_error(cuda::wrap(cpu, memory_.data(), DType::i32, {1}), Code::invalid_argument, {"cpu"});
  expect_error(cuda::address(View(must(cpu.empty(DType::i32, {1})))), Code::invalid_argument);
  expect_error(cuda::address(View()), Code::invalid_argument);
  device.close();
  expect_error(wrap(memory_.data()), Code::failed_precondition, {"closed"});
}

TEST_F(CudaInteropTest, work_goes_to_the_caller_s_stream) {
  int stream = 0;
  const Device device = must(open(0, {.cuda_stream = &stream}));
  const Pipeline pipeline =
      must(kernel(device, "nothing", "kernel void nothing(device int* y [[buffer(0)]]) {}"));
  const Buffer y = must(device.empty(DType::i32, {1}));
  Encoder encoder = device.encoder();
  const Argument arguments[] = {y};
  must(encoder.dispatch(pipeline, arguments));
  must(encoder.submit_and_wait());
  EXPECT_EQ(stand_in().launches.at(0).stream, &stream);
}

// Someone who has waited for the stream, and has dropped everything, may destroy it.
TEST_F(CudaInteropTest, nothing_of_the_caller_s_is_in_use_when_the_device_is_gone) {
  stand_in().on_wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  auto owner = std::make_shared<int>(0);
  {
    int stream = 0;
    const Device device = must(open(0, {.cuda_stream = &stream}));
    const Pipeline pipeline =
        must(kernel(device, "nothing", "kernel void nothing(device int* y [[buffer(0)]]) {}"));
    const Argument arguments[] = {must(cuda::wrap(device, memory_.data(), DType::i32, {8}, owner))};
    Encoder encoder = device.encoder();
    must(encoder.dispatch(pipeline, arguments));
    must(encoder.submit());
  }
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(CudaInteropTest, whoever_else_waits_frees_nothing_of_the_caller_s) {
  stand_in().on_wait = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  std::atomic<std::thread::id> freed_on;
  std::thread waiting;
  int stream = 0;
  {
    const Device device = must(open(0, {.cuda_stream = &stream}));
    const Pipeline pipeline =
        must(kernel(device, "nothing", "kernel void nothing(device int* y [[buffer(0)]]) {}"));
    Encoder encoder = device.encoder();
    {
      const std::shared_ptr<void> owner(&stream,
                                        [&](void*) { freed_on = std::this_thread::get_id(); });
      const Argument y[] = {must(cuda::wrap(device, memory_.data(), DType::i32, {8}, owner))};
      must(encoder.dispatch(pipeline, y));
    }
    waiting = std::thread([event = must(encoder.submit())] { must(event.wait()); });
  }
  EXPECT_NE(freed_on.load(), std::thread::id()) << "not freed";
  EXPECT_NE(freed_on.load(), waiting.get_id());
  waiting.join();
}

}  // namespace
}  // namespace norite
