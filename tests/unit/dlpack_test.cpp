// SPDX-License-Identifier: MIT
// Tensors that come from elsewhere and views that go there, on the CPU and on a GPU that is none.
#include "norite/dlpack.hpp"

#include <cmath>
#include <limits>

#include "core/dlpack_abi.hpp"
#include "cuda/cuda_support.hpp"
#include "norite/graph.hpp"
#include "norite/ops/rms_norm.hpp"
#include "norite/ops/rms_norm_backward.hpp"

namespace norite {
namespace {

using test::contents;
using test::expect_error;
using test::must;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

/// A tensor of someone else's: rows of four floats, and how often it was deleted.
struct Foreign {
  Foreign() {
    tensor = {.version = {1, 1},
              .manager_ctx = this,
              .deleter =
                  [](DLManagedTensorVersioned* self) {
                    ++static_cast<Foreign*>(self->manager_ctx)->deleted;
                  },
              .flags = 0,
              .dl_tensor = {.data = memory.data(),
                            .device = {kDLCPU, 0},
                            .ndim = 2,
                            .dtype = {kDLFloat, 32, 1},
                            .shape = shape.data(),
                            .strides = nullptr,
                            .byte_offset = 0}};
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
  }
  DLTensor& contents() { return tensor.dl_tensor; }

  alignas(64) std::array<float, 32> memory;
  std::array<int64_t, 9> shape = {8, 4};
  std::array<int64_t, 9> strides = {4, 1};
  DLManagedTensorVersioned tensor;
  int deleted = 0;
};

class DlpackTest : public ::testing::Test {
 protected:
  Device device_ = test::cpu_device();
  Foreign foreign_;

  Result<View> import() { return from_dlpack(device_, &foreign_.tensor); }
  void expect_refused(Code code, std::initializer_list<std::string_view> words) {
    expect_error(import(), code, words);
    expect_error(import(), code, {", expected "});
    EXPECT_EQ(foreign_.deleted, 0);  // still the caller's
    foreign_ = Foreign();
    foreign_.tensor.manager_ctx = &foreign_;
    foreign_.contents().data = foreign_.memory.data();
    foreign_.contents().shape = foreign_.shape.data();
  }
};

TEST_F(DlpackTest, a_tensor_is_used_in_place_and_deleted_once) {
  {
    const View view = must(import());
    EXPECT_EQ(view.dtype(), DType::f32);
    EXPECT_EQ(view.shape(), (Shape{8, 4}));
    EXPECT_TRUE(view.contiguous());
    EXPECT_EQ(view.host_data(), reinterpret_cast<std::byte*>(foreign_.memory.data()));
    const View row = must(view.slice(0, 3, 4));
    Encoder encoder = device_.encoder();
    must(ops::rms_norm(encoder, {.x = view, .y = view, .eps = 0}));
    must(encoder.submit_and_wait());
    EXPECT_EQ(foreign_.deleted, 0);
  }
  EXPECT_EQ(foreign_.deleted, 1);
  EXPECT_NEAR(foreign_.memory[3], 3 / std::sqrt(14.0 / 4), 1e-6);  // of 0, 1, 2, 3
}

TEST_F(DlpackTest, the_last_holder_deletes) {
  auto slice = std::make_optional(must(must(import()).slice(0, 1, 2)));
  const Buffer buffer = slice->buffer();
  slice.reset();
  EXPECT_EQ(foreign_.deleted, 0);
  device_ = test::cpu_device();  // the buffer keeps what it needs
  EXPECT_EQ(contents<uint8_t>(buffer).size(), sizeof foreign_.memory);
}

TEST_F(DlpackTest, strides_offsets_and_ranks_are_the_tensor_s) {
  DLTensor& tensor = foreign_.contents();
  tensor.strides = foreign_.strides.data();
  foreign_.shape = {2, 3, 1};
  foreign_.strides = {8, 2, -5};  // that of a single element leads nowhere
  tensor.ndim = 3;
  tensor.byte_offset = 4;
  const View view = must(import());
  EXPECT_EQ(view.shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(view.strides(), (Strides{8, 2, 1}));
  EXPECT_EQ(*reinterpret_cast<float*>(view.host_data()), 1);
  EXPECT_EQ(view.buffer().size_bytes(), (8 + 2 * 2 + 1) * 4);  // not a byte more

  Foreign scalar;
  scalar.contents().ndim = 0;
  scalar.contents().shape = nullptr;
  EXPECT_EQ(must(from_dlpack(device_, &scalar.tensor)).count(), 1);
  Foreign repeated;
  repeated.contents().strides = repeated.strides.data();
  repeated.strides = {0, 1};
  EXPECT_EQ(must(from_dlpack(device_, &repeated.tensor)).buffer().size_bytes(), 16);
}

TEST_F(DlpackTest, every_dtype_goes_both_ways) {
  for (const DType dtype : kAllDTypes) {
    const View view = must(device_.empty(dtype, {3, 5}));
    DLManagedTensorVersioned* const tensor = must(to_dlpack(view));
    const View back = must(from_dlpack(device_, tensor));
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_EQ(back.shape(), view.shape());
    EXPECT_EQ(back.host_data(), view.host_data());
  }
}

TEST_F(DlpackTest, an_exported_tensor_outlives_its_device) {
  const auto exported = [] {
    const Device device = test::cpu_device();
    Buffer buffer = must(device.empty(DType::u16, {4, 6}));
    const uint16_t value = 7;
    must(buffer.write(std::as_bytes(std::span(&value, 1)), (2 * 6 + 3) * 2));
    return must(to_dlpack(must(must(View(buffer).permute({1, 0})).slice(0, 3, 5))));
  }();
  const DLTensor& tensor = exported->dl_tensor;
  EXPECT_EQ(exported->version.major, 1U);
  EXPECT_EQ(exported->flags, 0U);
  EXPECT_EQ(tensor.device.device_type, kDLCPU);
  EXPECT_EQ(tensor.byte_offset, 0U);
  ASSERT_EQ(tensor.ndim, 2);
  EXPECT_EQ(tensor.shape[0], 2);
  EXPECT_EQ(tensor.shape[1], 4);
  EXPECT_EQ(tensor.strides[0], 1);
  EXPECT_EQ(tensor.strides[1], 6);
  EXPECT_EQ(static_cast<uint16_t*>(tensor.data)[2 * tensor.strides[1]], 7);
  exported->deleter(exported);
}

TEST_F(DlpackTest, read_only_tensors_have_to_be_accepted) {
  foreign_.tensor.flags = 1;
  test::expect_refused(import(), {"read-only"});
  EXPECT_EQ(foreign_.deleted, 0);
  must(from_dlpack(device_, &foreign_.tensor, ReadOnlyTensors::accept));
  EXPECT_EQ(foreign_.deleted, 1);
  Foreign copied;
  copied.tensor.flags = 2;
  copied.tensor.deleter = nullptr;  // which DLPack allows
  must(from_dlpack(device_, &copied.tensor));
}

TEST_F(DlpackTest, read_only_tensors_are_read_and_never_written) {
  foreign_.tensor.flags = 1;
  const View view = must(from_dlpack(device_, &foreign_.tensor, ReadOnlyTensors::accept));
  const Buffer y = must(device_.empty(DType::f32, view.shape()));
  Encoder encoder = device_.encoder();
  must(ops::rms_norm(encoder, {.x = view, .y = y}));
  expect_error(ops::rms_norm(encoder, {.x = y, .y = view}), Code::invalid_argument,
               {"rms_norm: y is read-only"});
  // An operation of two dispatches records neither.
  const View last = must(view.slice(0, 7, 8)), dw = must(last.reshape({4}));
  const int64_t recorded = encoder.counters().dispatches;
  expect_error(ops::rms_norm_backward(encoder, {.x = y, .weight = dw, .dy = y, .dw = dw}),
               Code::invalid_argument, {"rms_norm_backward: dw is read-only"});
  EXPECT_EQ(encoder.counters().dispatches, recorded);
  must(encoder.submit_and_wait());
  Buffer buffer = view.buffer();
  expect_error(buffer.write(std::as_bytes(std::span(foreign_.memory))), Code::invalid_argument,
               {"read-only"});
  Graph graph = must(
      Graph::capture(device_, [&](Encoder& e) { return ops::rms_norm(e, {.x = view, .y = y}); }));
  expect_error(graph.rebind(y, view), Code::invalid_argument, {"read-only"});
  DLManagedTensorVersioned* const exported = must(to_dlpack(view));
  EXPECT_EQ(exported->flags, 1U);
  exported->deleter(exported);
}

TEST_F(DlpackTest, a_closed_device_takes_no_tensors) {
  device_.close();
  expect_error(import(), Code::failed_precondition, {"buffer", "cpu", "closed"});
  EXPECT_EQ(foreign_.deleted, 0) << "still the caller's";
}

TEST_F(DlpackTest, hostile_tensors_are_refused_and_stay_the_caller_s) {
  DLTensor& tensor = foreign_.contents();
  test::expect_refused(from_dlpack(device_, nullptr), {"no tensor"});
  foreign_.tensor.version = {2, 0};
  expect_refused(Code::unsupported, {"DLPack 2.0", "1.x"});
  foreign_.tensor.version = {0, 8};
  expect_refused(Code::unsupported, {"0.8"});
  for (const int ndim : {-1, 9}) {
    tensor.ndim = ndim;
    expect_refused(Code::invalid_argument, {std::to_string(ndim) + " axes", "0 to 8"});
  }
  tensor.shape = nullptr;
  expect_refused(Code::invalid_argument, {"shape is null"});
  for (const int64_t extent : {int64_t{0}, int64_t{-4}}) {
    foreign_.shape[0] = extent;
    expect_refused(Code::invalid_argument, {"extents >= 1"});
  }
  foreign_.shape = {kHuge, 3};
  expect_refused(Code::invalid_argument, {"fewer than 2^63"});
  foreign_.shape = {kHuge / 2, 1};
  expect_refused(Code::invalid_argument, {"fewer than 2^63"});
  foreign_.shape = {int64_t{1} << 50, 1};
  expect_refused(Code::out_of_memory, {"cpu"});
  foreign_.strides = {-4, 1};
  tensor.strides = foreign_.strides.data();
  expect_refused(Code::invalid_argument, {"[-4, 1]", "below 0"});
  foreign_.strides = {kHuge, 1};
  tensor.strides = foreign_.strides.data();
  expect_refused(Code::invalid_argument, {"fewer than 2^63"});
  tensor.data = nullptr;
  expect_refused(Code::invalid_argument, {"expected memory"});
  tensor.byte_offset = ~uint64_t{0};
  expect_refused(Code::invalid_argument, {"byte offset"});
  tensor.byte_offset = 2;
  expect_refused(Code::invalid_argument, {"f32", "multiple of 4"});
}

TEST_F(DlpackTest, unknown_elements_and_other_devices_are_refused) {
  DLTensor& tensor = foreign_.contents();
  for (const DLDataType type : {DLDataType{kDLFloat, 64, 1}, DLDataType{kDLFloat, 32, 4},
                                DLDataType{kDLBfloat, 32, 1}, DLDataType{6, 8, 1}}) {
    tensor.dtype = type;
    expect_refused(Code::unsupported, {"type code", "lanes"});
  }
  for (const int32_t type : {int32_t{kDLCUDA}, int32_t{kDLCUDAManaged}, 8, 0}) {
    tensor.device = {type, 0};
    expect_refused(Code::invalid_argument, {"device type", "cpu"});
  }
  tensor.device = {kDLCUDAHost, 0};  // the host's memory like any other
  must(import());
  const Device null = test::null_device();
  test::expect_refused(from_dlpack(null, &foreign_.tensor), {"null"});
  expect_error(to_dlpack(View(must(null.empty(DType::f32, {1})))), Code::unsupported, {"null"});
  test::expect_refused(to_dlpack(View()), {"empty"});
}

class CudaDlpackTest : public test::CudaTest {};

TEST_F(CudaDlpackTest, memory_of_the_gpu_goes_both_ways) {
  const Device device = must(open());
  Foreign foreign;
  foreign.contents().device = {kDLCUDA, 0};
  foreign.contents().byte_offset = 4;  // no multiple of what kernels read at once
  foreign.shape = {7, 4};
  {
    const View view = must(from_dlpack(device, &foreign.tensor));
    EXPECT_EQ(view.byte_offset(), 4);
    DLManagedTensorVersioned* const tensor = must(to_dlpack(view));
    EXPECT_EQ(tensor->dl_tensor.device.device_type, kDLCUDA);
    EXPECT_EQ(tensor->dl_tensor.device.device_id, 0);
    EXPECT_EQ(tensor->dl_tensor.data, &foreign.memory[1]);
    tensor->deleter(tensor);
    EXPECT_EQ(foreign.deleted, 0);
  }
  EXPECT_EQ(foreign.deleted, 1);
}

TEST_F(CudaDlpackTest, memory_of_others_is_refused_and_stays_the_caller_s) {
  stand_in().devices = 2;
  const Device device = must(open());
  Foreign foreign;
  test::expect_refused(from_dlpack(device, &foreign.tensor), {"cuda"});
  foreign.contents().device = {kDLCUDA, 1};
  test::expect_refused(from_dlpack(device, &foreign.tensor), {"index 1", "cuda"});
  foreign.contents().device = {kDLCUDAManaged, 0};
  stand_in().foreign = reinterpret_cast<unsigned long long>(foreign.memory.data());
  test::expect_refused(from_dlpack(device, &foreign.tensor), {"expected memory of cuda"});
  EXPECT_EQ(foreign.deleted, 0);
  stand_in().foreign = 0;
  must(from_dlpack(device, &foreign.tensor));
  EXPECT_EQ(foreign.deleted, 1);
}

}  // namespace
}  // namespace norite
