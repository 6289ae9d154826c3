// SPDX-License-Identifier: MIT
// Memory and streams of the caller's on a real NVIDIA GPU. Skipped where there is none.
#include <gtest/gtest.h>
#include <norite/norite.hpp>

#include <array>
#include <vector>

#include "backends/cuda/context.hpp"
#include "core/dlpack_abi.hpp"
#include "norite/cuda.hpp"
#include "norite/dlpack.hpp"
#include "support.hpp"

namespace norite {
namespace {

using test::contents;
using test::expect_error;
using test::must;

using Floats = std::array<float, 8>;
constexpr Floats kValues = {1, 2, 3, 4, 5, 6, 7, 8}, kDoubled = {2, 4, 6, 8, 10, 12, 14, 16};

/// A program that has a stream, and eight floats of GPU memory, before it meets Norite.
class CudaInteropGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto opened = Device::open("cuda"); !opened) GTEST_SKIP() << opened.error().message;
    context_ = must(cuda::Context::retain(must(cuda::driver()), 0, "cuda"));
    const cuda::Current current(*context_);
    check(driver().cuStreamCreate(&stream_, 1));  // waits for no other
    check(driver().cuMemAlloc_v2(&memory_, sizeof kValues));
    upload(kValues);
  }
  void TearDown() override {
    if (context_ == nullptr) return;
    const cuda::Current current(*context_);
    check(driver().cuMemFree_v2(memory_));
    check(driver().cuStreamDestroy_v2(stream_));
  }

  [[nodiscard]] const cuda::Driver& driver() const { return context_->driver(); }
  void check(cuda::CUresult error) const { ASSERT_EQ(error, 0) << driver().describe(error); }
  void* memory() const { return reinterpret_cast<void*>(memory_); }
  void upload(const Floats& values) const {
    const cuda::Current current(*context_);
    check(driver().cuMemcpyHtoDAsync_v2(memory_, values.data(), sizeof values, stream_));
  }
  [[nodiscard]] Floats download() const {
    const cuda::Current current(*context_);
    Floats values = {};
    check(driver().cuMemcpyDtoHAsync_v2(values.data(), memory_, sizeof values, stream_));
    check(driver().cuStreamSynchronize(stream_));
    return values;
  }
  static Result<void> double_in_place(const Device& device, const View& x) {
    Encoder encoder = device.encoder();
    NORITE_TRY(ops::scale(encoder, {.x = x, .y = x, .factor = 2}));
    NORITE_TRY(encoder.submit());
    return {};
  }

  std::shared_ptr<cuda::Context> context_;
  cuda::CUstream stream_ = nullptr;
  cuda::CUdeviceptr memory_ = 0;
};

// Nothing waits: the copies before and after are on the same stream.
TEST_F(CudaInteropGpuTest, work_on_wrapped_memory_is_ordered_by_the_caller_s_stream) {
  const Device device = must(Device::open("cuda", {.cuda_stream = stream_}));
  const Buffer x = must(cuda::wrap(device, memory(), DType::f32, {8}));
  EXPECT_EQ(must(cuda::address(View(x))), memory());
  must(double_in_place(device, x));
  EXPECT_EQ(download(), kDoubled);
  upload(kValues);
  for (int i = 0; i < 3; ++i) must(double_in_place(device, x));
  EXPECT_EQ(download()[7], 64);
}

TEST_F(CudaInteropGpuTest, host_memory_is_not_wrapped) {
  const Device device = must(Device::open("cuda"));
  alignas(16) Floats host = kValues;
  expect_error(cuda::wrap(device, host.data(), DType::f32, {8}), Code::invalid_argument);
}

TEST_F(CudaInteropGpuTest, tensors_come_and_go_as_dlpack) {
  const Device device = must(Device::open("cuda", {.cuda_stream = stream_}));
  const Buffer x = must(cuda::wrap(device, memory(), DType::f32, {8}));
  DLManagedTensorVersioned* tensor = must(to_dlpack(must(View(x).slice(0, 1, 7))));
  EXPECT_EQ(tensor->dl_tensor.device.device_type, kDLCUDA);
  const View back = must(from_dlpack(device, tensor));
  must(double_in_place(device, back));
  EXPECT_EQ(download(), (Floats{1, 4, 6, 8, 10, 12, 14, 8}));
  DLManagedTensorVersioned* refused = must(to_dlpack(x));
  expect_error(from_dlpack(must(Device::open("cpu")), refused), Code::invalid_argument);
  refused->deleter(refused);
}

}  // namespace
}  // namespace norite
