// SPDX-License-Identifier: MIT
// `norite kernel` as a shell sees it: what it lists, refuses, finds and computes.
#include "command.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <norite/float16.hpp>
#include <norite/npy.hpp>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>

namespace norite {
namespace {

using nlohmann::json;
using test::CommandResult;
using test::run_norite;
using test::TemporaryFile;

constexpr const char* kText = R"(#include <metal_stdlib>
using namespace metal;

constant bool doubled [[function_constant(0)]];
constant int shift [[function_constant(3)]];

kernel void scale(device const float* x [[buffer(0)]],
                  device float* y [[buffer(1)]],
                  constant float& factor [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) {
  y[i] = x[i] * factor;
}

kernel void row_sum(device const float* x [[buffer(0)]],
                    device float* sums [[buffer(2)]],
                    constant uint& dim [[buffer(5)]],
                    threadgroup float* shared [[threadgroup(0)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_index_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]]) {
  float sum = 0;
  for (uint i = thread_index; i < dim; i += threads) sum += x[row * dim + i];
  shared[thread_index] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index == 0) {
    float total = 0;
    for (uint i = 0; i < threads; ++i) total += shared[i];
    sums[row] = total;
  }
}

kernel void copy_bytes(device const uchar* x [[buffer(0)]], device uchar* y [[buffer(1)]],
                       uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
}

kernel void add_one(device bfloat* x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  x[i] = bfloat(float(x[i]) + STEP);
}

kernel void constants(device int* y [[buffer(0)]]) {
  y[0] = doubled ? 2 << shift : 1 << shift;
}

kernel void past_the_end(device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  y[i + 1] = 1;
}

kernel void far_away(device float* y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  y[i + 1000000000000ul] = 1;
}

kernel void endless(device int* y [[buffer(0)]]) {
  while (y[0] == 0) y[1] += 1;
}
)";

constexpr const char* kScale = "--entry scale --grid 5 --threads 2 --arg 1=zeros:f32[5] ";

class Kernel : public testing::Test {
 protected:
  CommandResult kernel(const std::string& verb, const std::string& arguments) const {
    return run_norite(
        fmt::format("kernel {} '{}' --define STEP=1 {}", verb, file_.path(), arguments));
  }
  CommandResult run(const std::string& arguments) const { return kernel("run", arguments); }

 private:
  TemporaryFile file_{"kernel.metal", kText};
};

/// The same where kernels can be compiled and run.
class KernelRun : public Kernel {
 protected:
  void SetUp() override {
    const TemporaryFile empty("empty.metal", "kernel void nothing() {}");
    const auto result = run_norite("kernel run '" + empty.path() + "' --groups 1 --threads 1");
    if (result.exit_code == 3) GTEST_SKIP() << result.err;
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
};

/// A .npy file in the test's temporary folder, removed with this object.
class TemporaryArray {
 public:
  TemporaryArray(const std::string& name, DType dtype, const Shape& shape,
                 std::span<const std::byte> data)
      : file_(name, "") {
    const auto written = write_npy(file_.path(), {dtype, shape, {data.begin(), data.end()}});
    EXPECT_TRUE(written) << written.error().message;
  }
  [[nodiscard]] const std::string& path() const { return file_.path(); }

 private:
  TemporaryFile file_;
};

TemporaryArray floats(const std::string& name, const std::vector<float>& values,
                      const Shape& shape) {
  return {name, DType::f32, shape, std::as_bytes(std::span(values))};
}

template <class T>
std::vector<T> read_values(const std::string& path) {
  const auto array = read_npy(path);
  EXPECT_TRUE(array) << array.error().message;
  if (!array) return {};
  std::vector<T> values(array->data.size() / sizeof(T));
  std::memcpy(values.data(), array->data.data(), array->data.size());
  return values;
}

void expect_refused(const CommandResult& result, int exit_code, const std::string& reason) {
  EXPECT_EQ(result.exit_code, exit_code) << reason << "\n" << result.err;
  EXPECT_EQ(result.out, "") << reason;
  EXPECT_NE(result.err.find("norite: error: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find(reason), std::string::npos) << reason << "\n" << result.err;
}

TEST_F(Kernel, HelpIsThereForEveryVerb) {
  for (const std::string verb : {"", "list ", "check ", "run "}) {
    const CommandResult result = run_norite("kernel " + verb + "--help");
    EXPECT_EQ(result.exit_code, 0) << verb;
    EXPECT_NE(result.out.find("Examples:"), std::string::npos) << verb;
  }
  const CommandResult alone = run_norite("kernel");
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_NE(alone.out.find("kernel run scale.metal --entry scale "), std::string::npos);
}

TEST_F(Kernel, ListsKernelsAsJson) {
  const CommandResult result = kernel("list", "--json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.json();
  ASSERT_TRUE(document.is_object()) << result.out;
  EXPECT_EQ(document["schema_version"], 1);
  ASSERT_EQ(document["kernels"].size(), 8u);
  const json& sum = document["kernels"][1];
  EXPECT_EQ(sum["name"], "row_sum");
  ASSERT_EQ(sum["buffers"].size(), 3u);
  EXPECT_EQ(sum["buffers"][0]["const"], true);
  EXPECT_EQ(sum["buffers"][1]["index"], 2);
  EXPECT_EQ(sum["buffers"][1]["const"], false);
  EXPECT_EQ(sum["buffers"][2]["address_space"], "constant");
  ASSERT_EQ(sum["threadgroup"].size(), 1u);
  EXPECT_EQ(sum["threadgroup"][0]["name"], "shared");
  EXPECT_EQ(document["constants"], (json{{{"index", 0}, {"name", "doubled"}, {"type", "bool"}},
                                         {{"index", 3}, {"name", "shift"}, {"type", "int"}}}));
}

TEST_F(Kernel, ListsKernelsAsText) {
  const CommandResult result = kernel("list", "");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* text : {"8 kernels", "row_sum", "threadgroup", "factor", "Function constants"}) {
    EXPECT_NE(result.out.find(text), std::string::npos) << text;
  }
}

TEST_F(Kernel, FilesThatCannotBeReadExitWith4) {
  for (const char* verb : {"list", "check", "run"}) {
    const std::string command = fmt::format("kernel {} ", verb);
    expect_refused(run_norite(command + "/no/such.metal"), 4, "no such file");
    expect_refused(run_norite(command + "/"), 4, "no regular file");
  }
  const TemporaryFile none("none.metal", "float twice(float x) { return 2 * x; }");
  expect_refused(run_norite("kernel run '" + none.path() + "' --groups 1 --threads 1"), 4,
                 "the file has no kernel");
}

TEST_F(Kernel, MistakesInTheCommandLineExitWith2) {
  const std::string scale = kScale;
  const std::string x = "--arg 0=zeros:f32[5] ", factor = "--arg 2=bytes:f32:1 ";
  const std::string sum =
      "--entry row_sum --groups 1 --threads 4 --arg 0=zeros:f32[4] "
      "--arg 2=zeros:f32[1] --arg 5=bytes:u32:4 ";
  const std::pair<std::string, const char*> mistakes[] = {
      {"", "--entry must say which kernel"},
      {"--entry scael", "Did you mean 'scale'?"},
      {"--entry something_else", "has no kernel of that name"},
      {scale + x, "also needs:\n  --arg 2=SPEC  for constant "},
      {scale + x + factor + "--arg 3=zeros:f32[1]", "has no [[buffer(3)]]"},
      {scale + x + factor + "--arg 4294967296=zeros:f32[1]", "has no [[buffer(4294967296)]]"},
      {scale + x + factor + "--arg 2=bytes:f32:2", "index 2 is given twice"},
      {"--entry scale --grid 5 --threads 2 --arg 1=bytes:f32:1 " + x + factor,
       "the kernel may write to device"},
      {sum, "--threadgroup-memory 0:BYTES"},
      {sum + "--threadgroup-memory 0:16 --threadgroup-memory 1:16", "has no [[threadgroup(1)]]"},
      {sum + "--threadgroup-memory 0:-1", "'-1' is no integer of 1 or more"},
      {sum + "--threadgroup-memory 0:1000000", "at most 32768 bytes"},
      {scale + x + factor + "--constant 1=true", "no such function constant; it has:"},
      {scale + x + factor + "--constant size=3", "no such function constant"},
      {scale + x + factor + "--constant 0=true --constant doubled=true", "given twice"},
      {scale + x + factor + "--define UNUSED=1", "--define UNUSED:"},
      {scale + x + factor + "--define 1X=1", "'1X' is no name of a macro"},
      {scale + x + factor + "--define STEP=2", "--define STEP: given twice"},
      {scale + x + factor + "--groups 1", "--groups and --grid exclude each other"},
      {"--entry scale --threads 2 " + x, "--groups or --grid must say"},
      {"--entry scale --groups 1 " + x, "--threads must say"},
      {"--entry scale --groups 0 --threads 1", "'0' is no integer of 1 or more"},
      {"--entry scale --groups 1,2,3,4 --threads 1", "expected X, X,Y or X,Y,Z"},
      {"--entry scale --groups 1, --threads 1", "'' is no integer"},
      {"--entry copy_bytes --grid 5 --threads 64,32 --arg 0=zeros:u8[5] --arg 1=zeros:u8[5]",
       "more than the 1024 threads"},
      {scale + factor + "--arg 0", "expected something before and after '='"},
      {scale + factor + "--arg x=zeros:f32[5]", "'x' is no integer"},
      {scale + factor + "--arg 0=zeros:f64[5]", "'f64' is no dtype"},
      {scale + factor + "--arg 0=zeros:f32", "as in zeros:f32[4,5]"},
      {scale + factor + "--arg 0=zeros:f32[0]", "'0' is no integer of 1 or more"},
      {scale + factor + "--arg 0=zeros:f32[5,]", "'' is no integer"},
      {scale + factor + "--arg 0=zeros:f32[1,1,1,1,1,1,1,1,1]", "more than 8 extents"},
      {scale + factor + "--arg 0=random:f32", "as in random:f32[4,5]"},
      {scale + factor + "--arg 0=random:i32[5]", "random numbers of i32"},
      {scale + factor + "--arg 0=zero:f32[5]", "expected FILE.npy, FILE.npy:bf16, zeros:"},
      {scale + x + "--arg 2=bytes:1", "as in bytes:f32:1e-6,300"},
      {scale + x + "--arg 2=bytes:f32:", "'' is no number"},
      {scale + x + "--arg 2=bytes:f32:1,", "'' is no number"},
      {scale + x + "--arg 2=bytes:f32:1.5x", "'1.5x' is no number"},
      {scale + x + "--arg 2=bytes:f32:infinity", "'infinity' is no number"},
      {scale + x + "--arg 2=bytes:f32:1e39", "'1e39' is beyond the range of f32"},
      {scale + x + "--arg 2=bytes:f16:65520", "'65520' is beyond the range of f16"},
      {scale + x + "--arg 2=bytes:u8:256", "'256' is no integer from 0 to 255"},
      {scale + x + "--arg 2=bytes:u8:-1", "'-1' is no integer from 0 to 255"},
      {scale + x + "--arg 2=bytes:i32:1.0", "'1.0' is no integer"},
      {scale + x + factor + "--save 0=x.npy", "the kernel never writes to"},
      {scale + x + factor + "--save 7=x.npy", "has no [[buffer(7)]]"},
      {scale + x + factor + "--save 1=/no/such/folder/y.npy", "there is no folder"},
  };
  for (const auto& [arguments, reason] : mistakes) expect_refused(run(arguments), 2, reason);
}

TEST_F(Kernel, MissingDevicesExitWith3) {
  const std::string good = std::string(kScale) + "--arg 0=zeros:f32[5] --arg 2=bytes:f32:1 ";
  expect_refused(run(good + "--device no_such_device"), 3, "no_such_device");
  expect_refused(run(good + "--device null"), 3, "computes nothing");
}

TEST_F(KernelRun, ReadsAndSavesArrays) {
  const auto x = floats("x.npy", {1, 2, 3, 4, 5}, {5});
  const TemporaryFile y("y.npy", "");
  const CommandResult result = run(
      fmt::format("{} --arg 0={} --arg 2=bytes:f32:0.5 --save 1={}", kScale, x.path(), y.path()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("saved y: f32 [5]"), std::string::npos) << result.out;
  EXPECT_EQ(read_values<float>(y.path()), (std::vector<float>{0.5f, 1, 1.5f, 2, 2.5f}));
}

TEST_F(KernelRun, ShowsTheFirstValuesOfWhatIsWritten) {
  const auto x = floats("x.npy", {1, 2, 3, 4, 5}, {5});
  const std::string arguments = fmt::format("{} --arg 0={} --arg 2=bytes:f32:-1", kScale, x.path());
  const CommandResult text = run(arguments);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("-1  -2  -3  -4  -5"), std::string::npos) << text.out;
  const json document = run(arguments + " --json").json();
  ASSERT_TRUE(document.is_object());
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["kernel"], "scale");
  ASSERT_EQ(document["outputs"].size(), 1u);
  EXPECT_EQ(document["outputs"][0]["index"], 1);
  EXPECT_EQ(document["outputs"][0]["shape"], json({5}));
  EXPECT_EQ(document["outputs"][0]["first"], json({-1, -2, -3, -4, -5}));
}

TEST_F(KernelRun, GroupsSumRowsThroughThreadgroupMemory) {
  constexpr int kRows = 37, kDim = 300;
  std::vector<float> values(kRows * kDim);
  std::iota(values.begin(), values.end(), 0.f);
  for (float& value : values) value = std::fmod(value, 7.f);
  const auto x = floats("rows.npy", values, {kRows, kDim});
  const TemporaryFile sums("sums.npy", "");
  const CommandResult result = run(
      fmt::format("--entry row_sum --groups {} --threads 64 --threadgroup-memory 0:256 --arg 0={} "
                  "--arg 2=zeros:f32[{}] --arg 5=bytes:u32:{} --save 2={} --checked",
                  kRows, x.path(), kRows, kDim, sums.path()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("no mistakes found"), std::string::npos) << result.out;
  std::vector<float> expected;
  for (auto row = values.begin(); row != values.end(); row += kDim) {
    expected.push_back(std::accumulate(row, row + kDim, 0.f));
  }
  EXPECT_EQ(read_values<float>(sums.path()), expected);
}

TEST_F(KernelRun, InlineValuesHaveTheirBits) {
  const std::pair<const char*, std::vector<int>> values[] = {
      {"u8:0,255,0x7f", {0, 255, 127}},
      {"i8:-128,127", {128, 127}},
      {"u16:0xABCD", {0xCD, 0xAB}},
      {"i32:-2", {0xFE, 0xFF, 0xFF, 0xFF}},
      {"u32:4294967295", {0xFF, 0xFF, 0xFF, 0xFF}},
      {"f32:1,-inf", {0, 0, 0x80, 0x3F, 0, 0, 0x80, 0xFF}},
      {"f32:0x1p-1", {0, 0, 0, 0x3F}},
      {"f16:1,65519,inf", {0, 0x3C, 0xFF, 0x7B, 0, 0x7C}},
      {"f16:1.00048828125", {0, 0x3C}},           // halfway, to even
      {"f16:1.00048828125000000001", {0, 0x3C}},  // the nearest double is halfway as well
      {"f16:1.00048828125001", {0x01, 0x3C}},     // above halfway, but not in f32
      {"bf16:1,1.00390625,1.00390626", {0x80, 0x3F, 0x80, 0x3F, 0x81, 0x3F}},
      {"f32:1,u16:2,u8:3", {0, 0, 0x80, 0x3F, 2, 0, 3}},
  };
  for (const auto& [spec, bytes] : values) {
    const CommandResult result = run(fmt::format(
        "--entry copy_bytes --grid {0} --threads 8 --arg 0=bytes:{1} --arg 1=zeros:u8[{0}] --json",
        bytes.size(), spec));
    ASSERT_EQ(result.exit_code, 0) << spec << "\n" << result.err;
    EXPECT_EQ(result.json()["outputs"][0]["first"], json(bytes)) << spec;
  }
}

TEST_F(KernelRun, SixteenBitIntegersAreReadAsBf16) {
  const std::vector<uint16_t> bits = {to_bfloat16(1.5f).bits, to_bfloat16(-8).bits};
  const TemporaryArray x("bf16.npy", DType::u16, {2}, std::as_bytes(std::span(bits)));
  const TemporaryFile y("y.npy", "");
  const CommandResult result = run(fmt::format(
      "--entry add_one --grid 2 --threads 2 --arg 0={}:bf16 --save 0={}", x.path(), y.path()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_npy(y.path())->dtype, DType::u16);
  EXPECT_EQ(read_values<uint16_t>(y.path()),
            (std::vector{to_bfloat16(2.5f).bits, to_bfloat16(-7).bits}));

  const auto wrong = floats("f32.npy", {1, 2}, {2});
  expect_refused(
      run(fmt::format("--entry add_one --grid 2 --threads 2 --arg 0={}:bf16", wrong.path())), 4,
      "f32 cannot be read as bf16");
}

TEST_F(KernelRun, ConstantsGoByNameOrIndex) {
  const std::string one = "--entry constants --groups 1 --threads 1 --arg 0=zeros:i32[1] --json ";
  const std::pair<const char*, int> forms[] = {
      {"--constant 0=true --constant 3=4", 32},
      {"--constant doubled=false --constant shift=4", 16},
  };
  for (const auto& [constants, expected] : forms) {
    const CommandResult result = run(one + constants);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.json()["outputs"][0]["first"], json({expected})) << constants;
  }
  expect_refused(run(one + "--constant 0=maybe --constant 3=4"), 2, "maybe");
}

TEST_F(KernelRun, TimesRunsThatBeginAlike) {
  const CommandResult result =
      run("--entry add_one --grid 2 --threads 2 --arg 0=zeros:bf16[2] "
          "--time --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const json document = result.json();
  EXPECT_GT(document["time_us_p50"], 0);
  EXPECT_GE(document["repeats"], 5);
  EXPECT_EQ(document["outputs"][0]["first"], json({1, 1}));
}

TEST_F(KernelRun, BadArraysExitWith4) {
  const TemporaryFile garbage("garbage.npy", "this is no array");
  const auto none = floats("none.npy", {}, {0});
  const std::pair<std::string, const char*> files[] = {{garbage.path(), "this is no .npy file"},
                                                       {none.path(), "has no elements"},
                                                       {"/no/such.npy", "no such file"}};
  for (const auto& [path, reason] : files) {
    expect_refused(run(fmt::format("{} --arg 0={} --arg 2=bytes:f32:1", kScale, path)), 4, reason);
  }
}

TEST_F(KernelRun, TextThatDoesNotCompileExitsWith4AndItsLine) {
  const TemporaryFile bad("bad.metal",
                          "kernel void k(device float* y [[buffer(0)]]) {\n"
                          "  y[0] = unknown_name;\n}\n");
  const CommandResult result =
      run_norite("kernel run '" + bad.path() + "' --groups 1 --threads 1 --arg 0=zeros:f32[1]");
  expect_refused(result, 4, "unknown_name");
  EXPECT_NE(result.err.find(bad.path() + ":2:"), std::string::npos) << result.err;
}

TEST_F(KernelRun, ABufferSmallerThanAReferenceExitsWith2) {
  expect_refused(run(std::string(kScale) + "--arg 0=zeros:f32[5] --arg 2=bytes:u8:1"), 2, "factor");
}

TEST_F(KernelRun, CheckedModeExitsWith1AndTheLine) {
  const CommandResult result =
      run("--entry past_the_end --grid 4 --threads 4 --arg 0=zeros:f32[4] --checked");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("past_the_end"), std::string::npos) << result.err;
}

TEST_F(KernelRun, AnOverrunOfHoweverSmallABufferExitsWith1) {
  for (const int elements : {1, 5, 1000, 1024}) {
    const CommandResult result = run(fmt::format(
        "--entry past_the_end --grid 4096 --threads 64 --arg 0=zeros:f32[{}]", elements));
    expect_refused(result, 1, "bytes past the end of buffer 0 \"y\"");
  }
}

TEST_F(KernelRun, WhatIsNoFileIsNotReplacedByOne) {
  const TemporaryFile file("pipe.npy", "");
  std::filesystem::remove(file.path());
  ASSERT_EQ(::mkfifo(file.path().c_str(), 0600), 0);
  expect_refused(run("--entry past_the_end --grid 3 --threads 3 --arg 0=zeros:f32[4] "
                     "--save 0='" +
                     file.path() + "'"),
                 4, "no regular file");
  EXPECT_TRUE(std::filesystem::is_fifo(file.path()));
}

TEST_F(KernelRun, RandomArgumentsAreTheSameEveryTimeAndDifferFromEachOther) {
  const auto y_of = [&](const char* x) {
    const CommandResult result =
        run(std::string("--entry scale --grid 1 --threads 1 --arg 1=random:f32[5] "
                        "--arg 2=bytes:f32:1 --json --arg 0=") +
            x);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return json::parse(result.out)["outputs"][0]["first"];
  };
  const json y = y_of("random:f32[5]"), untouched = y_of("zeros:f32[5]");
  EXPECT_EQ(y, y_of("random:f32[5]"));
  EXPECT_EQ(y[1], untouched[1]);
  EXPECT_NE(y[0], untouched[0]);
  EXPECT_NE(y[0], untouched[1]);
}

/// The example of the README, on rows whose sums are known.
TEST_F(KernelRun, TheSoftmaxOfTheExamplesAddsUpToOne) {
  const auto root = std::filesystem::path(NORITE_TEST_DATA).parent_path().parent_path();
  const TemporaryFile saved("softmax.npy", "");
  const CommandResult result = run_norite(
      fmt::format("kernel run '{}' --groups 3 --threads 256 --checked --arg 0=random:f32[3,300] "
                  "--arg 1=zeros:f32[3,300] --arg 2=bytes:u32:300 --save 1='{}'",
                  (root / "examples" / "softmax.metal").string(), saved.path()));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const NpyArray y = read_npy(saved.path()).value();
  ASSERT_EQ(y.shape, (Shape{3, 300}));
  for (int row = 0; row < 3; ++row) {
    double sum = 0;
    for (int i = 0; i < 300; ++i) {
      float value = 0;
      std::memcpy(&value, &y.data[static_cast<size_t>(row * 300 + i) * sizeof(float)], 4);
      EXPECT_GT(value, 0.0f);
      sum += value;
    }
    EXPECT_NEAR(sum, 1, 1e-6);
  }
}

TEST_F(KernelRun, AFaultOfTheProcessorExitsWith1) {
  expect_refused(run("--entry far_away --grid 64 --threads 4 --arg 0=zeros:f32[4]"), 1,
                 "accessed memory that is not its own");
}

TEST_F(KernelRun, EndlessKernelsAreCancelledWith1) {
  const CommandResult result =
      run("--entry endless --groups 1 --threads 1 --arg 0=zeros:i32[2] --time-limit 0.2");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(result.out, "");
}

TEST_F(KernelRun, IncludesComeFromTheFilesFolderAndFromOthers) {
  const auto folder = std::filesystem::temp_directory_path();
  const TemporaryFile header("factor.h", "#define FACTOR EXTERNAL_FACTOR\n");
  const std::string name = std::filesystem::path(header.path()).filename().string();
  const TemporaryFile file("including.metal",
                           "#include \"" + name +
                               "\"\nkernel void k(device float* y [[buffer(0)]]) { "
                               "y[0] = FACTOR; }\n");
  const std::string arguments =
      "--groups 1 --threads 1 --arg 0=zeros:f32[1] --define EXTERNAL_FACTOR=3 --json";
  CommandResult result = run_norite("kernel run '" + file.path() + "' " + arguments);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.json()["outputs"][0]["first"], json({3}));

  const auto elsewhere = folder / fmt::format("norite_kernel_test_{}", name);
  std::filesystem::create_directory(elsewhere);
  std::filesystem::copy_file(file.path(), elsewhere / "including.metal");
  result =
      run_norite(fmt::format("kernel run '{}' {} -I '{}'", (elsewhere / "including.metal").string(),
                             arguments, folder.string()));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::filesystem::remove_all(elsewhere);
}

TEST_F(Kernel, AMissingIncludeIsToldOnceWithTheOptionThatHelps) {
  const TemporaryFile file("including.metal", "#include \"nowhere.h\"\nkernel void k() {}\n");
  const CommandResult check = run_norite("kernel check '" + file.path() + "'");
  EXPECT_EQ(check.exit_code, 1) << check.err;
  EXPECT_NE(check.out.find(file.path() + ":1:1: error: could not find include file: nowhere.h"),
            std::string::npos)
      << check.out;
  EXPECT_NE(check.out.find("-I DIR"), std::string::npos) << check.out;
  for (const std::string verb : {"list", "run"}) {
    const CommandResult result = run_norite("kernel " + verb + " '" + file.path() + "'");
    expect_refused(result, 4, ":1:1: could not find include file: nowhere.h (-I DIR");
  }
}

TEST_F(KernelRun, CheckFindsNothingInGoodText) {
  const CommandResult result = kernel("check", "");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("no errors"), std::string::npos) << result.out;
}

TEST_F(KernelRun, CheckReportsPlacesAndExitsWith1) {
  const TemporaryFile bad("bad.metal",
                          "kernel void k(device float* y [[buffer(0)]]) {\n"
                          "  y[0] = unknown_name;\n}\n");
  const CommandResult text = run_norite("kernel check '" + bad.path() + "'");
  EXPECT_EQ(text.exit_code, 1) << text.out << text.err;
  EXPECT_NE(text.out.find(bad.path() + ":2:"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("1 error,"), std::string::npos) << text.out;
  const CommandResult result = run_norite("kernel check --json '" + bad.path() + "'");
  EXPECT_EQ(result.exit_code, 1);
  const json document = result.json();
  ASSERT_TRUE(document.is_object()) << result.out;
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["errors"], 1);
  ASSERT_FALSE(document["diagnostics"].empty());
  EXPECT_EQ(document["diagnostics"][0]["severity"], "error");
}

}  // namespace
}  // namespace norite
