// SPDX-License-Identifier: MIT
// What `kernel check` refuses, where it says so, and what it must let pass.
#include <algorithm>

#include "msl/executor_support.hpp"
#include "norite/kernel_text.hpp"
#include "scoped_env.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::must;
using test::ScopedEnv;

// Helpers and a kernel whose body begins in line 14.
std::string kernel_with(const std::string& body) {
  return R"(#include <metal_stdlib>
using namespace metal;
struct P { float a; uint n; float4 v; };
constant float table[3] = {1, 2, 3};
void fill(threadgroup float* p) { p[0] = 1; }
template <typename T> void fill_any(threadgroup T* p) { p[0] = T(1); }
void set(thread float& r) { r = 2; }
struct Loader {
  threadgroup float* to;
  Loader(threadgroup float* p, uint n) : to(p + n) {}
};
kernel void k(device float* d [[buffer(0)]], constant P& params [[buffer(1)]],
              constant float4* c [[buffer(2)]], uint i [[thread_position_in_grid]]) {
threadgroup float shared[256]; float mine[4];
)" + body +
         "\n}\n";
}

std::vector<Diagnostic> check(const std::string& text) {
  return must(check_kernels({text, "k.metal"}));
}

std::string all(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    text += diagnostic.place + ": " + diagnostic.message + '\n';
  }
  return text;
}

/// Some diagnostic stands in that line and has every one of these words.
void expect_diagnostic(const std::vector<Diagnostic>& diagnostics, const std::string& line,
                       const std::vector<std::string_view>& words,
                       Diagnostic::Severity severity = Diagnostic::Severity::error) {
  const auto fits = [&](const Diagnostic& diagnostic) {
    return diagnostic.severity == severity &&
           diagnostic.place.starts_with("k.metal:" + line + ":") &&
           std::ranges::all_of(words, [&](std::string_view word) {
             return diagnostic.message.find(word) != std::string::npos;
           });
  };
  EXPECT_TRUE(std::ranges::any_of(diagnostics, fits)) << "nothing in line " << line << " among:\n"
                                                      << all(diagnostics);
}

void expect_clean(const std::string& text) { EXPECT_EQ(all(check(text)), ""); }

struct Violation {
  const char* name;
  const char* statement;
  std::vector<std::string_view> words;
};

class AddressSpaceTest : public testing::TestWithParam<Violation> {};

TEST_P(AddressSpaceTest, is_refused_where_it_stands) {
  const auto diagnostics = check(kernel_with(std::string(";\n") + GetParam().statement));
  expect_diagnostic(diagnostics, "16", GetParam().words);
  EXPECT_EQ(diagnostics.size(), 1U) << all(diagnostics);
}

INSTANTIATE_TEST_SUITE_P(
    Violations, AddressSpaceTest,
    testing::Values(
        Violation{"threadgroup_from_device",
                  "threadgroup float* p = d; p[0] = 1;",
                  {"'threadgroup float *'", "'device float *'"}},
        Violation{"device_from_threadgroup",
                  "device float* p = shared; p[0] = 1;",
                  {"'device float *'", "'threadgroup float[256]'"}},
        Violation{"device_from_thread",
                  "device float* p = mine; p[0] = 1;",
                  {"'device float *'", "'thread float[4]'"}},
        Violation{"device_from_constant",
                  "device const float4* p = c; d[i] = p->x;",
                  {"device float4", "constant float4"}},
        Violation{"assignment",
                  "threadgroup float* p = shared; p = d;",
                  {"'device float *'", "'threadgroup float *'"}},
        Violation{"argument", "fill(d);", {"'fill'", "a device argument", "threadgroup"}},
        Violation{"argument_of_thread", "fill(mine);", {"'fill'", "thread", "threadgroup"}},
        Violation{"template_argument", "fill_any(d);", {"'fill_any'", "a device", "threadgroup"}},
        Violation{
            "constructor", "Loader l(d, i); l.to[0] = 1;", {"'Loader'", "device", "threadgroup"}},
        Violation{
            "reference_argument", "set(shared[0]);", {"'set'", "a threadgroup argument", "thread"}},
        Violation{"reference", "thread float& r = shared[1]; r = 1;", {"thread", "threadgroup"}},
        Violation{"choice", "d[i] = *(i > 2 ? d : shared);", {"device float", "threadgroup"}},
        Violation{"c_cast",
                  "device float* p = (device float*)shared; p[0] = 1;",
                  {"cast", "'threadgroup float *'", "'device float *'"}},
        Violation{"reinterpret_cast",
                  "d[0] = *reinterpret_cast<device float*>(&shared[0]);",
                  {"cast", "'threadgroup float *'", "'device float *'"}},
        Violation{"static_cast", "d[0] = *static_cast<device float*>(&mine[0]);", {"device"}},
        Violation{"write_to_constant", "params.a = 1;", {"const"}},
        Violation{"write_to_constant_vector", "c[0].x = 2;", {"read-only"}},
        Violation{"unqualified_pointer", "float* p = 0; d[i] = *p;", {"'p'", "address space"}},
        Violation{"unqualified_reference",
                  "P& p = *(thread P*)0; d[i] = p.a;",
                  {"'p'", "address space"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CheckTest, lets_right_kernels_pass) {
  expect_clean(kernel_with(R"(
  P p = params;
  float4 v = c[i];
  v.xy = c[0].zw * p.v.xy + params.v.yx;
  threadgroup float* tp = shared;
  fill(shared); fill(tp + 1); fill_any(&shared[3]);
  constant float* t = table;
  set(mine[1]); set(v.x); set(p.a);
  threadgroup float4* t4 = (threadgroup float4*)tp;
  t4[0] = as_type<float4>(uint4(1)) + params.v + (i > 1 ? c[0] : v);
  device float4* d4 = reinterpret_cast<device float4*>(d);
  d4[i] = fma(d4[0], c[1], v) * t[0];
  thread const device float* both[2] = {d, d + 1};
  d[i] = simd_sum(mine[0]) + dot(c[1], v) + max(params.a, 0.0f) + *both[1];
  Loader l(shared, i);
  thread float4& alias = v;
  alias += float4(d[0], d[1], params.a, 0);
  d[1] = alias.w / *tp;)"));
}

TEST(CheckTest, keeps_functions_apart_that_differ_in_address_space_alone) {
  const std::string twins = R"(#include <metal_stdlib>
struct A { float x;
  float get() const thread { return x; }
  float get() const device { return x; }
  float get() const constant { return x; } };
float first(device const float* p) { return *p; }
float first(threadgroup const float* p) { return *p; }
float second(constant const float p[2]) { return p[1]; }
kernel void k(device float* d [[buffer(0)]], constant float* c [[buffer(1)]],
              device A* a [[buffer(2)]], constant A& b [[buffer(3)]],
              threadgroup float* t [[threadgroup(0)]]) {
)";
  expect_clean(twins + "d[0] = first(d) + first(t) + second(c) + a->get() + b.get(); }");
  expect_diagnostic(check(twins + "d[0] = first(c); }"), "12", {"'first'", "constant argument"});
}

TEST(CheckTest, looks_into_instances_of_templates) {
  const auto diagnostics = check(R"(#include <metal_stdlib>
template <typename T, void (*load)(device const T*, thread T&)>
kernel void k(device T* d [[buffer(0)]]) {
  T value; load(d, value);
  threadgroup T* p = d;
  p[0] = value;
}
template <typename T> void plain(device const T* from, thread T& to) { to = *from; }
template [[host_name("k_float")]] kernel void k<float, plain>(device float*);
template [[host_name("k_half")]] kernel void k<half, plain>(device half*);
)");
  expect_diagnostic(diagnostics, "5", {"threadgroup", "device"});
  EXPECT_EQ(diagnostics.size(), 1U) << all(diagnostics);
}

TEST(CheckTest, unqualified_parameters_are_refused) {
  const auto diagnostics = check(R"(#include <metal_stdlib>
struct S { float x;
  float f(const S& other) const { return other.x; } };
float g(float* p, thread float& r, const S& s) { return *p * r * s.x; }
kernel void k(device float* d [[buffer(0)]]) { float a = 2, b = 3; d[0] = (a * b) + a; }
kernel void l(device float* d [[buffer(0)]], const float* x [[buffer(1)]]) { d[0] = 1; }
)");
  expect_diagnostic(diagnostics, "3", {"'other'"});
  expect_diagnostic(diagnostics, "4", {"'p'"});
  expect_diagnostic(diagnostics, "4", {"'s'"});
  expect_diagnostic(diagnostics, "6", {"'x'"});
  EXPECT_EQ(diagnostics.size(), 4U) << all(diagnostics);
}

TEST(CheckTest, a_missing_name_is_reported_with_its_line) {
  const auto diagnostics = check(kernel_with("d[0] = 1;\nd[i] = bessel(mine[0]);"));
  expect_diagnostic(diagnostics, "16", {"bessel"});
  EXPECT_EQ(diagnostics.size(), 1U) << all(diagnostics);
}

TEST(CheckTest, an_error_inside_of_the_library_stands_at_its_use) {
  expect_diagnostic(check(kernel_with("d[i] = 0;\nd[i] = as_type<half>(mine[0]);")), "16",
                    {"same size"});
}

TEST(CheckTest, kernels_with_textures_do_not_hide_the_others) {
  const auto diagnostics = check(R"(#include <metal_stdlib>
using namespace metal;
kernel void sample(texture2d<float> image [[texture(0)]], device float* d [[buffer(0)]]) {
  d[0] = image.read(uint2(0)).x;
}
kernel void wrong(device float* d [[buffer(0)]]) { d[0] = nowhere; }
)");
  expect_diagnostic(diagnostics, "3", {"sample", "image", "texture"});
  expect_diagnostic(diagnostics, "6", {"nowhere"});
  EXPECT_EQ(diagnostics.size(), 2U) << all(diagnostics);
}

TEST(CheckTest, a_kernel_may_have_the_name_of_a_function) {
  expect_clean(R"(#include <metal_stdlib>
using namespace metal;
float prelu(float x) { return x; }
kernel void exp(device float* d [[buffer(0)]]) { d[0] = 1.0 / *d; }
kernel void prelu(device float* d [[buffer(0)]]) { d[0] = prelu(metal::exp(d[0])); }
)");
}

TEST(CheckTest, text_that_cannot_be_read_is_a_diagnostic) {
  expect_diagnostic(check("\nkernel void k(device float* d [[buffer(40)]]) {}"), "2", {"40"});
  expect_diagnostic(check("kernel void k(device float* d [[buffer(0)]]) {"), "1", {"{"});
}

TEST(CheckTest, limits_and_words_of_metal) {
  const auto diagnostics = check(R"(#include <metal_stdlib>
using namespace metal;
kernel void k(device float* d [[buffer(0)]]) {
  threadgroup float4 fits[2048];
  threadgroup float4 large[64][33];
  fits[0] = large[0][0];
  double x = 1;
  d[0] = fits[0].x + x;
}
[[max_total_threads_per_threadgroup(2048)]] kernel void wide(device float* d [[buffer(0)]]) {}
kernel int returns(device float* d [[buffer(0)]]) { return 1; }
)");
  expect_diagnostic(diagnostics, "5", {"'large'", "32768"});
  expect_diagnostic(diagnostics, "7", {"double"});
  expect_diagnostic(diagnostics, "10", {"'wide'", "1024"});
  expect_diagnostic(diagnostics, "11", {"'returns'", "void"});
  EXPECT_EQ(diagnostics.size(), 4U) << all(diagnostics);
}

TEST(CheckTest, sums_by_float_atomics_are_a_warning) {
  const auto diagnostics = check(R"(#include <metal_stdlib>
using namespace metal;
kernel void k(device atomic_float* sum [[buffer(0)]]) {
  atomic_fetch_add_explicit(sum, 1.0f, memory_order_relaxed);
}
)");
  expect_diagnostic(diagnostics, "3", {"order"}, Diagnostic::Severity::warning);
  EXPECT_EQ(diagnostics.size(), 1U) << all(diagnostics);
}

TEST(CheckTest, says_what_to_install_when_there_is_no_clang) {
  const std::string text = kernel_with("d[i] = 0;");
  {
    const ScopedEnv path("PATH", "/nonexistent");
    const ScopedEnv wanted("NORITE_CLANG", nullptr);
    expect_error(check_kernels(text), Code::unsupported, {"apt-get install clang-19"});
  }
  const ScopedEnv wanted("NORITE_CLANG", "/nonexistent");
  expect_error(check_kernels(text), Code::unsupported, {"NORITE_CLANG", "/nonexistent"});
}

}  // namespace
}  // namespace norite
