// SPDX-License-Identifier: MIT
// Kernel text as Metal's own compiler gets it.
#include "msl/lower_metal.hpp"

#include <gtest/gtest.h>

#include "core/kernel_files.hpp"
#include "msl/lower_clang.hpp"
#include "msl/source.hpp"
#include "support.hpp"

namespace norite::msl {
namespace {

using test::must;

constexpr std::string_view kNoContraction = "#pragma METAL fp contract(off)";

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(LowerMetal, ExpandsMacrosAndKeepsMetalsOwnHeaders) {
  const Module module = must(parse({.name = "k.metal", .text = R"(
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#define TWICE(x) (x + x)
#if WIDTH > 2
kernel void wide(device float* y [[buffer(0)]]) { y[0] = TWICE(M_PI_F) + WIDTH; }
#else
kernel void narrow() {}
#endif
)"},
                                   {{"WIDTH", "4"}}));
  const std::string text = lower_for_metal(module);
  EXPECT_TRUE(has(text, "#include <metal_stdlib>"));
  EXPECT_TRUE(has(text, "#include <metal_simdgroup_matrix>"));
  EXPECT_TRUE(has(text, kNoContraction));
  EXPECT_TRUE(has(text, "[[buffer(0)]]"));
  EXPECT_TRUE(has(text, "M_PI_F"));  // Metal's macro, not the user's
  for (const char* gone : {"TWICE", "WIDTH", "narrow", "#if", "#define"}) {
    EXPECT_FALSE(has(text, gone)) << gone;
  }
}

TEST(LowerMetal, NamesTheUsersFilesAndLines) {
  Source source{.name = "folder/k.metal",
                .text = "#include \"part.h\"\n\n\n\n\n\n\nkernel void k() {}\n"};
  source.find_header = [](std::string_view, std::string_view) {
    return Header{"folder/part.h", "\nstruct Part { int x; };\n"};
  };
  const std::string text = lower_for_metal(must(parse(source, {})));
  EXPECT_TRUE(has(text, "#line 2 \"folder/part.h\"\nstruct Part"));
  EXPECT_TRUE(has(text, "#line 8 \"folder/k.metal\"\nkernel void k"));
}

/// What the CPU makes of a text, and of that text once more after it went through Metal's form.
void expect_same_for_the_cpu(const Source& source, const Specialisation& macros,
                             const ConstantValues& constants = {}) {
  const Module direct = must(parse(source, macros));
  std::string handed_over = lower_for_metal(direct);
  handed_over.erase(handed_over.find(kNoContraction), kNoContraction.size());
  const Module again = must(parse({.name = "program_source", .text = handed_over}, {}));
  ASSERT_EQ(direct.kernels.size(), again.kernels.size());
  for (size_t i = 0; i < direct.kernels.size(); ++i) {
    EXPECT_EQ(must(lower_for_clang(direct, direct.kernels[i], constants)),
              must(lower_for_clang(again, again.kernels[i], constants)));
  }
}

// The executor behind the stand-in for Metal then finds what was compiled for the CPU device.
TEST(LowerMetal, MeansTheSame) {
  expect_same_for_the_cpu({.name = "k.metal", .text = R"(
#include <metal_stdlib>
using namespace metal;
constant bool flag [[function_constant(0)]];
#define AT(p, i) (p)[(i)]
template <typename T>
kernel void fill(device T* y [[buffer(0)]], constant uint& n [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
#pragma unroll
  for (uint k = 0; k < 4; ++k) {
    if (flag && i < n) AT(y, i) = T(1.5h) / *(&AT(y, 0)) - -1;
  }
}
template [[host_name("fill_float")]] kernel void fill<float>(device float*, constant uint&, uint);
)"},
                          {}, {{"flag", "true"}});
}

TEST(LowerMetal, MeansTheSameForABuiltInKernel) {
  const auto files = core::kernel_files();
  const auto found = std::ranges::find_if(
      files, [](const auto& file) { return file.path.ends_with("/sum_partials.metal"); });
  ASSERT_NE(found, files.end());
  core::KernelSource source{"sum_partials",
                            KernelText(std::string(found->text), std::string(found->path)), true};
  expect_same_for_the_cpu(source_of(source),
                          {{"OUT_TYPE", "bfloat"}, {"COLUMNS", "32"}, {"STRIPS", "8"}});
}

}  // namespace
}  // namespace norite::msl
