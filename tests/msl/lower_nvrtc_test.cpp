// SPDX-License-Identifier: MIT
// Kernel text as CUDA C++: what the entry takes, and what becomes of words that NVRTC does not
// know. Nothing here is compiled.
#include "msl/lower_nvrtc.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>

#include "msl/module.hpp"
#include "support.hpp"

namespace norite::msl {
namespace {

using test::expect_error;
using test::must;
using Kind = NvrtcParameter::Kind;

Module parsed(std::string text) {
  return must(parse({.name = "k.metal", .text = std::move(text)}, {}));
}

/// The lowered text from the user's first line on, without blanks and line directives.
std::string lowered(const Module& module, const ConstantValues& constants = {},
                    References references = References::by_value) {
  const std::string text =
      must(lower_for_nvrtc(module, module.kernels.at(0), constants, references));
  std::string part = text.substr(text.find("\"k.metal\""));
  for (size_t at = 0; (at = part.find("#line", at)) != std::string::npos;) {
    part.erase(at, part.find('\n', at) - at);
  }
  std::erase_if(part, [](unsigned char c) { return std::isspace(c); });
  return part;
}

void expect_part(const std::string& text, std::string part) {
  std::erase_if(part, [](unsigned char c) { return std::isspace(c); });
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

void expect_no_part(const std::string& text, std::string_view part) {
  EXPECT_EQ(text.find(part), std::string::npos) << part << "\nis in\n" << text;
}

constexpr const char* kEveryKind = R"(
  struct Params { uint n; };
  kernel void k(constant Params& p [[buffer(5)]], device float* y [[buffer(2)]],
                threadgroup float* b [[threadgroup(1)]], device const float& scale [[buffer(3)]],
                threadgroup half* a [[threadgroup(0)]], constant uint* table [[buffer(0)]],
                device uint& count [[buffer(4)]], device const atomic_uint& flag [[buffer(6)]],
                uint i [[thread_position_in_grid]]) {})";

TEST(NvrtcEntry, TakesBuffersThenSlotsInTheOrderOfTheirIndices) {
  expect_part(lowered(parsed(kEveryKind)), R"(
    extern "C" __global__ void norite_msl_entry(
      norite_msl::pointer_t<NoriteKernel, 5> b5, norite_msl::pointer_t<NoriteKernel, 1> b1,
      const __grid_constant__ norite_msl::value_t<NoriteKernel, 3> b3,
      norite_msl::pointer_t<NoriteKernel, 6> b6,
      const __grid_constant__ norite_msl::value_t<NoriteKernel, 0> b0,
      norite_msl::pointer_t<NoriteKernel, 7> b7, unsigned t4, unsigned t2,
      const __grid_constant__ norite_msl::GridShape shape))");
}

TEST(NvrtcEntry, HandsThemOnInTheOrderOfTheKernel) {
  expect_part(lowered(parsed(kEveryKind)), R"()(b0.get(), b1,
    norite_msl::threadgroup_argument<NoriteKernel, 2>(t2), b3.get(),
    norite_msl::threadgroup_argument<NoriteKernel, 4>(t4), b5, *b6, *b7,
    norite_msl::place_argument<NoriteKernel, 8>(t->position_in_grid)))");
}

TEST(NvrtcEntry, TellsTheHostWhatEachBufferTakes) {
  const Module module = parsed(kEveryKind);
  std::vector<std::pair<unsigned, Kind>> seen;
  for (const NvrtcParameter& one : nvrtc_parameters(module, module.kernels.at(0), {})) {
    seen.emplace_back(one.index, one.kind);
  }
  const std::vector<std::pair<unsigned, Kind>> expected = {{0, Kind::pointer}, {2, Kind::pointer},
                                                           {3, Kind::value},   {4, Kind::pointer},
                                                           {5, Kind::value},   {6, Kind::pointer}};
  EXPECT_EQ(seen, expected);
}

TEST(NvrtcEntry, TakesPointersForReferencesToMemoryOfTheDevice) {
  const Module module = parsed(kEveryKind);
  const auto parameters =
      nvrtc_parameters(module, module.kernels.at(0), {}, References::by_pointer);
  for (const NvrtcParameter& one : parameters) EXPECT_EQ(one.kind, Kind::pointer) << one.index;
  const std::string text = lowered(module, {}, References::by_pointer);
  expect_no_part(text, "value_t");
  expect_part(text, ")(*b0, b1,");
}

TEST(NvrtcEntry, SaysHowManyBytesEachBufferNames) {
  expect_part(lowered(parsed(kEveryKind)),
              "norite_msl_buffer_bytes[] = {norite_msl::buffer_bytes<NoriteKernel, 5>(), 0, "
              "norite_msl::buffer_bytes<NoriteKernel, 1>(),");
}

TEST(NvrtcEntry, LeavesOutWhatAFunctionConstantLeavesOut) {
  const Module module = parsed(R"(
    constant bool has_mask [[function_constant(0)]];
    kernel void k(device float* x [[buffer(0)]],
                  device float* mask [[buffer(1), function_constant(has_mask)]]) {})");
  const std::string without = lowered(module, {{"has_mask", "false"}});
  expect_part(without, "norite_msl_entry(norite_msl::pointer_t<NoriteKernel, 0> b0, const");
  expect_part(without, "norite_msl::absent_argument<NoriteKernel, 1>()");
  const ConstantValues with = {{"has_mask", "true"}};
  EXPECT_EQ(nvrtc_parameters(module, module.kernels.at(0), with).size(), 2U);
}

TEST(NvrtcEntry, BoundsTheThreadsWhereTheKernelDoes) {
  expect_part(lowered(parsed("[[kernel, max_total_threads_per_threadgroup(96)]] void k() {}")),
              "__global__ void __launch_bounds__(96) norite_msl_entry(");
}

TEST(NvrtcEntry, NamesTemplatesAndNamespaces) {
  const std::string text = lowered(parsed(R"(
    namespace a {
    template <typename T> [[kernel]] void k(device T* x [[buffer(0)]]) {}
    template [[host_name("k_half")]] [[kernel]] void k<half>(device half*);
    })"));
  expect_part(text, "namespace a { using NoriteKernel = decltype(&");
  expect_part(text, "k<half>)(b0)");
}

TEST(NvrtcText, SharesThreadgroupVariables) {
  const std::string text =
      lowered(parsed("kernel void k() { threadgroup float4 a[32], b; threadgroup float* p = 0; }"));
  expect_part(text,
              "__shared__ norite_msl::Shared<float4[32]> norite_a; auto& a = norite_a.value();");
  expect_part(text, "__shared__ norite_msl::Shared<float4> norite_b; auto& b = norite_b.value();");
  expect_part(text, "float* p = 0;");
}

TEST(NvrtcText, DoesNotPoll) {
  const std::string text = lowered(parsed(
      "kernel void k(constant int& n) { for (int i = 0; i < n; ++i) while (i > 9) break; }"));
  expect_part(text, "for (int i = 0; i < n; ++i) while (i > 9) break;");
  expect_no_part(text, "poll_loop");
}

TEST(NvrtcText, KeepsKernelsToItself) {
  expect_part(lowered(parsed("kernel void k() {}")), "static void k() {}");
  expect_part(lowered(parsed("[[kernel]] void k() {}")), "static void k() {}");
}

TEST(NvrtcText, TurnsPragmasOfClangIntoItsOwn) {
  const std::string text = lowered(
      parsed("kernel void k() {\n#pragma clang loop unroll(full)\nfor (;;) {}\n#pragma clang loop "
             "unroll(disable)\nfor (;;) {}\n#pragma clang fp contract(off)\n}"));
  expect_part(text, "#pragma unroll for (;;) {} #pragma unroll 1 for (;;) {} }");
}

TEST(NvrtcText, FillsArraysByLoops) {
  expect_part(lowered(parsed("kernel void k() { float s[4] = { [0 ... 3] = 1.0h }; }")),
              "float s[4]; for (auto& norite_each : s) norite_each = half(1.0f);");
}

TEST(NvrtcText, ConvertsWhatMeetsInAConditional) {
  expect_part(lowered(parsed("kernel void k(constant half& h) { float x = h > 0 ? h : 0; }")),
              "h > 0 ? norite_msl::meet<decltype((h)), decltype((0))>(h)"
              " : norite_msl::meet<decltype((0)), decltype((h))>(0);");
}

TEST(NvrtcText, LeavesConditionalsAloneWhoseOperandsItCannotTell) {
  for (const char* const plain :
       {"vec<float, a ? b : 2> v;", "int i = a ? 1 : 2;", "int i = a ? b ? a : b : b;",
        "int i = a ? b : c > d;", "int i = a ? P{1}.x : b;"}) {
    expect_no_part(lowered(parsed(fmt::format("kernel void k() {{ {} }}", plain))), "meet");
  }
}

TEST(NvrtcText, RefusesWhatHasNoMeaningThere) {
  const Module module =
      parsed("kernel void k(texture2d<float> image [[texture(0)]], device float* x) {}");
  expect_error(lower_for_nvrtc(module, module.kernels.at(0), {}), Code::unsupported,
               {"k.metal:1:", "image", "texture"});
}

}  // namespace
}  // namespace norite::msl
