// SPDX-License-Identifier: MIT
// What the front end reads out of kernel text, and what it refuses with which place.
#include <gtest/gtest.h>

#include <cctype>

#include "msl/lower_clang.hpp"
#include "msl/module.hpp"
#include "msl/source.hpp"
#include "support.hpp"

namespace norite::msl {
namespace {

using test::expect_error;
using test::must;

Module parsed(std::string text, const Specialisation& macros = {}) {
  return must(parse({.name = "k.metal", .text = std::move(text)}, macros));
}

std::string lowered(const Module& module, const ConstantValues& constants = {}) {
  return must(lower_for_clang(module, module.kernels.at(0), constants));
}

/// The lowered text from the user's first line on, without blanks.
std::string user_part(const std::string& text) {
  const size_t start = text.find("\"k.metal\"");
  std::string part = start == std::string::npos ? "" : text.substr(start);
  std::erase_if(part, [](unsigned char c) { return std::isspace(c); });
  return part;
}

const KernelParameter& parameter(const Module& module, size_t index) {
  return module.definitions.at(0).parameters.at(index);
}

TEST(Preprocessing, LooksAgainWhereHeadersOrMacrosMayDiffer) {
  const auto first_kernel = [](const char* text, const char* header, const Specialisation& macros) {
    Source source{.name = "k.metal", .text = text};
    source.find_header = [&](std::string_view, std::string_view) {
      return Header{"part.h", header};
    };
    return must(parse(source, macros)).kernels.at(0).name;
  };
  constexpr const char* kIncludes = "#include \"part.h\"\nkernel void NAME() {}\n";
  EXPECT_EQ(first_kernel(kIncludes, "#define NAME one\n", {}), "one");
  EXPECT_EQ(first_kernel(kIncludes, "#define NAME two\n", {}), "two");
  constexpr const char* kAlone = "kernel void NAME() {}\n";
  EXPECT_EQ(first_kernel(kAlone, "", {{"NAME", "three"}}), "three");
  EXPECT_EQ(first_kernel(kAlone, "", {{"NAME", "four"}}), "four");
  EXPECT_EQ(first_kernel(kAlone, "", {{"NAME", "four"}}), "four");
}

TEST(Signature, ReadsBuffersByIndexKindAndConstness) {
  const Module module = parsed(R"(
    enum Index { kX, kY = 4, kParams };
    struct Params { uint n; };
    kernel void k(device const float* x [[buffer(kX)]], const device half4 *z [[ buffer(2) ]],
                  device float* y [[buffer(kY + 2)]], constant Params& p [[buffer(kParams)]],
                  threadgroup float* shared [[threadgroup(1)]]) {})");
  EXPECT_EQ(parameter(module, 0).index, 0U);
  EXPECT_TRUE(parameter(module, 0).read_only);
  EXPECT_EQ(parameter(module, 1).type, "const half4*");
  EXPECT_TRUE(parameter(module, 1).read_only);
  EXPECT_EQ(parameter(module, 2).index, 6U);
  EXPECT_FALSE(parameter(module, 2).read_only);
  EXPECT_EQ(parameter(module, 3).index, 5U);
  EXPECT_TRUE(parameter(module, 3).by_reference);
  EXPECT_TRUE(parameter(module, 3).read_only);
  EXPECT_EQ(parameter(module, 4).kind, ParameterKind::threadgroup);
  EXPECT_EQ(parameter(module, 4).index, 1U);
}

TEST(Signature, NumbersBuffersThatHaveNoIndex) {
  const Module module = parsed(
      "[[kernel]] void k(device float* a, device float* b [[buffer(0)]], constant int& c, uint i "
      "[[thread_position_in_grid]]) {}");
  EXPECT_EQ(parameter(module, 0).index, 1U);
  EXPECT_EQ(parameter(module, 2).index, 2U);
  EXPECT_EQ(parameter(module, 3).kind, ParameterKind::place);
}

TEST(Signature, FindsInstantiationsOfTemplates) {
  const Module module = parsed(R"(
    template <typename T, int N> kernel void f(device T* x [[buffer(0)]]) {}
    #define INST(name, ...) template [[host_name(#name)]] [[kernel]] decltype(f<__VA_ARGS__>) f<__VA_ARGS__>;
    INST(first, float, 2)
    template [[host_name("second" "_half")]] kernel void f<half, (1 > 0) ? 3 : 4>(device half*);
    template <typename T> kernel void g(device T* x [[buffer(0)]]) {}
    template [[host_name("deduced")]] [[kernel]] void g(device float*);)");
  ASSERT_EQ(module.kernels.size(), 3U);
  EXPECT_EQ(module.kernels[0].name, "first");
  EXPECT_EQ(module.kernels[1].name, "second_half");
  EXPECT_EQ(module.kernels[2].name, "deduced");
  const std::string second = user_part(must(lower_for_clang(module, module.kernels[1], {})));
  EXPECT_NE(second.find("f<half,(1>0)?3:4>"), std::string::npos) << second;
}

TEST(Signature, FindsKernelsInNamespacesAndFunctionConstants) {
  const Module module = parsed(R"(
    constant bool scaled [[function_constant(3)]];
    namespace a { namespace b { kernel void k(device float* x [[buffer(0), function_constant(scaled)]]) {} } })");
  ASSERT_EQ(module.constants.size(), 1U);
  EXPECT_EQ(module.constants[0].index, 3U);
  EXPECT_EQ(module.constants[0].type, "bool");
  EXPECT_EQ(module.definitions.at(0).scope, "a::b");
  EXPECT_EQ(parameter(module, 0).gate, "scaled");
}

TEST(Lowering, TakesAddressSpacesAndAttributesAway) {
  const std::string text = user_part(
      lowered(parsed("void f(threadgroup float* p, constant int* q, thread int& r) {}\n"
                     "kernel void k(device float* x [[buffer(0)]]) { device float* y = x; }")));
  EXPECT_NE(text.find("voidf(float*p,constint*q,int&r)"), std::string::npos) << text;
  EXPECT_EQ(text.find("[[buffer"), std::string::npos) << text;
}

TEST(Lowering, MakesLiteralsMetals) {
  const std::string text = user_part(lowered(parsed(
      "kernel void k(device float* x [[buffer(0)]]) { x[0] = 1.0 + 2.5h + 3bf + 0x1p-3 + 7; }")));
  for (const char* literal : {"1.0f", "half(2.5f)", "bfloat(3.0f)", "0x1p-3f", "+7;"}) {
    EXPECT_NE(text.find(literal), std::string::npos) << literal << " in " << text;
  }
}

TEST(Lowering, RewritesSwizzlesButNotMembersOfTheUsers) {
  const std::string text = user_part(lowered(
      parsed("struct P { float xy; };\nkernel void k(device float4* v [[buffer(0)]], constant P& p "
             "[[buffer(1)]]) { v[0].zw = v[1].rg + p.xy; }")));
  EXPECT_NE(text.find("swizzle_ref_zw()"), std::string::npos) << text;
  EXPECT_NE(text.find("swizzle_xy()"), std::string::npos) << text;
  EXPECT_NE(text.find("p.xy"), std::string::npos) << text;
}

TEST(Lowering, KeepsLinesOfTheUsersFile) {
  const std::string text =
      lowered(parsed("\n\nkernel void k(device float* x [[buffer(0)]])\n{ x[0] = 1; }"));
  EXPECT_NE(text.find("#line 3 \"k.metal\""), std::string::npos);
}

TEST(Lowering, DropsTwinsThatDifferInAddressSpaceAlone) {
  const Module module = parsed(R"(
    struct S { float f() const device { return 1; } float f() const thread { return 2; } };
    float g(device float* a) { return a[0]; }
    float g(threadgroup float* b) { return b[0]; }
    float g(constant float* b) { return b[0]; }
    kernel void k(device float* x [[buffer(0)]]) {})");
  EXPECT_EQ(module.address_space_twins.size(), 2U);
}

TEST(Refusals, CarryThePlace) {
  const auto refused = [](std::string text) {
    return parse({.name = "k.metal", .text = std::move(text)}, {});
  };
  expect_error(refused("kernel void k(device float* x [[buffer(0)]]) {\n  x[0 = 1; }"),
               Code::compile_failed, {"k.metal:2"});
  expect_error(refused("\n#include \"nowhere.h\"\n"), Code::compile_failed, {"k.metal:2"});
  expect_error(refused("#error not today\n"), Code::compile_failed, {"k.metal:1", "not today"});
  expect_error(refused("kernel void k(device float* x [[buffer(99)]]) {}"), Code::compile_failed,
               {"k.metal:1", "99", "30"});
  expect_error(
      refused("kernel void k(device int* x [[buffer(1)]], device int* y [[buffer(1)]]) {}"),
      Code::compile_failed, {"\"y\"", "index 1"});
  expect_error(refused("kernel void k(device int* x [[buffer(n)]]) {}"), Code::compile_failed,
               {"buffer(n)"});
  expect_error(refused("kernel void k(device int* x [[buffer(0)]]) {}\n"
                       "kernel void k(device int* x [[buffer(0)]]) {}"),
               Code::compile_failed, {"k.metal:2", "already"});
}

TEST(Refusals, TexturesAreNamed) {
  const Module module =
      parsed("kernel void k(texture2d<float> t [[texture(0)]], device int* x [[buffer(0)]]) {}");
  expect_error(lower_for_clang(module, module.kernels[0], {}), Code::unsupported,
               {"k.metal:1", "\"t\"", "texture"});
}

TEST(Refusals, HostileMacrosEndInTime) {
  std::string bomb = "#define A0(x) x x\n";
  for (int i = 1; i < 40; ++i) {
    bomb += "#define A" + std::to_string(i) + "(x) A" + std::to_string(i - 1) + "(x) A" +
            std::to_string(i - 1) + "(x)\n";
  }
  expect_error(parse({.name = "k.metal", .text = bomb + "A39(1)\n"}, {}), Code::compile_failed,
               {"k.metal"});
  expect_error(parse({.name = "k.metal", .text = std::string(1 << 20, '(')}, {}),
               Code::compile_failed, {"k.metal:1"});
}

TEST(Pragmas, WithoutWordsAreDroppedHoweverTheyAreSpelt) {
  for (const std::string_view pragma :
       {"#pragma\n", "#\fpragma\n", "#/**/pragma \v\n", "%:pragma\n", "#\\\npragma\n",
        "#prag\\\nma\n", "#pragma\\\n\n", "#pragma /* none */\n", "#pragma // none\n"}) {
    SCOPED_TRACE(pragma);
    const Module module = parsed(std::string(pragma) + "kernel void k() {}");
    for (const Token& token : module.text.tokens) EXPECT_NE(token.kind, TokenKind::pragma);
  }
}

TEST(Pragmas, StayAsDirectivesOrGo) {
  const Module module = parsed(
      "#define UNROLL _Pragma(\"clang loop unroll(full)\")\n#pragma\n # pragma \t\n#pragma METAL\n"
      "kernel void k(device int* x [[buffer(0)]]) { UNROLL for (int i = 0; i < 4; ++i) x[i] = i; "
      "}");
  size_t pragmas = 0;
  for (const Token& token : module.text.tokens) pragmas += token.kind == TokenKind::pragma ? 1 : 0;
  EXPECT_EQ(pragmas, 2U);
  EXPECT_NE(lowered(module).find("#pragma clang loop unroll(full)"), std::string::npos);
}

TEST(Macros, ComeFromTheSpecialisation) {
  const Module module =
      parsed("#if WIDTH == 4\nkernel void k(device T* x [[buffer(0)]]) {}\n#endif\n",
             {{"WIDTH", "4"}, {"T", "half"}});
  EXPECT_EQ(parameter(module, 0).type, "half*");
  expect_error(parse({.name = "k.metal", .text = "int a;"}, {{"no name", "1"}}),
               Code::invalid_argument, {"no name"});
}

}  // namespace
}  // namespace norite::msl
