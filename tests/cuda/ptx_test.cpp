// SPDX-License-Identifier: MIT
// What instructions of PTX do, as its manual has it, and what the machine finds.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "cuda/ptx/machine.hpp"

namespace norite::ptx {
namespace {

/// Executes statements on threads of one group. Each stores its %r0.
std::vector<uint32_t> results_of(const std::string& statements, unsigned threads = kLanes) {
  const std::string text = R"(//
    .version 8.0
    .target sm_90
    .address_size 64
    .visible .entry tried(.param .u64 tried_param_0) {
      .reg .pred %p<8>; .reg .b16 %rs<8>; .reg .b32 %r<16>; .reg .b32 %f<16>; .reg .b64 %rd<16>;
      .shared .align 16 .b8 shared[1024];
      mov.u32 %r15, %tid.x;
)" + statements + R"(
      ld.param.u64 %rd15, [tried_param_0];
      mul.wide.u32 %rd14, %r15, 4;
      add.s64 %rd15, %rd15, %rd14;
      st.global.u32 [%rd15], %r0;
      ret;
    })";
  std::vector<uint32_t> results(threads);
  const auto begin = reinterpret_cast<uint64_t>(results.data());
  const auto* const bytes = reinterpret_cast<const uint8_t*>(&begin);
  const Launch launch{.kernel = compile(text),
                      .threads = {threads, 1, 1},
                      .parameters = {bytes, bytes + sizeof begin}};
  std::mt19937_64 random(1);
  execute(launch, {{begin, 4 * results.size()}}, random);
  return results;
}

struct Example {
  const char* statement;
  uint32_t expected;  // of thread 1
};

class Instructions : public testing::TestWithParam<Example> {};

TEST_P(Instructions, ComputeWhatTheManualSays) {
  EXPECT_EQ(results_of(GetParam().statement)[1], GetParam().expected) << GetParam().statement;
}

constexpr Example kIntegers[] = {
    {"mul.hi.u32 %r0, -1, -1;", 0xfffffffe},
    {"mul.hi.s32 %r0, -1, -1;", 0},
    {"mad.lo.s32 %r0, -3, 5, 1;", 0xfffffff2},
    {"div.s32 %r0, -7, 2;", 0xfffffffd},
    {"rem.s32 %r0, -7, 2;", 0xffffffff},
    {"div.u32 %r0, 5, 0;", 0xffffffff},
    {"min.s32 %r0, -1, 1;", 0xffffffff},
    {"min.u32 %r0, -1, 1;", 1},
    {"shl.b32 %r0, 1, 32;", 0},
    {"shr.u32 %r0, -1, 31;", 1},
    {"shr.s32 %r0, -8, 40;", 0xffffffff},
    {"bfi.b32 %r0, 0xff, 0, 8, 4;", 0xf00},
    {"bfi.b32 %r0, 7, 9, 40, 4;", 9},
    {"prmt.b32 %r0, 0x33221180, 0x77665544, 0x6428;", 0x664422ff},
    {"popc.b32 %r0, 0xf0f0;", 8},
    {"mov.b64 %rd0, {1, 2}; mov.b64 {_, %r0}, %rd0;", 2},
    {"mov.b32 {%rs0, %rs1}, 0x20001; cvt.u32.u16 %r0, %rs1;", 2},
    {"setp.lt.s32 %p0, -1, 1; selp.b32 %r0, 7, 8, %p0;", 7},
    {"setp.lt.u32 %p0, -1, 1; selp.b32 %r0, 7, 8, %p0;", 8},
};
constexpr Example kFloats[] = {
    {"fma.rn.f32 %r0, 0f3F800001, 0f3F800001, 0fBF800002;", 0x28800000},
    {"add.rz.f32 %r0, 0f3F800000, 0f33FFFFFF;", 0x3f800000},
    {"add.f32 %r0, 0f3F800000, 0f33FFFFFF;", 0x3f800001},
    {"fma.rm.f32 %r0, 0f3F800000, 0f3F800000, 0fB3800000;", 0x3f7fffff},
    {"fma.rm.f32 %r0, 0f3F800000, 0f3F800000, 0fBF800000;", 0x80000000},
    {"min.f32 %r0, 0f00000000, 0f80000000;", 0x80000000},
    {"max.f32 %r0, 0f7FC00000, 0f3F800000;", 0x3f800000},
    {"add.f32 %r0, 0fFFC12345, 0f3F800000;", 0x7fffffff},
    {"setp.ne.f32 %p0, 0f7FC00000, 0f3F800000; selp.b32 %r0, 1, 0, %p0;", 0},
    {"setp.neu.f32 %p0, 0f7FC00000, 0f3F800000; selp.b32 %r0, 1, 0, %p0;", 1},
    {"setp.nan.f32 %p0, 0f7FC00000, 0f3F800000; selp.b32 %r0, 1, 0, %p0;", 1},
    {"div.approx.f32 %r0, 0f3F800000, 0f7F000001;", 0},
    {"ex2.approx.ftz.f32 %r0, 0fC3000000;", 0},
    {"ex2.approx.f32 %r0, 0fC3000000;", 0x00200000},
    {"copysign.f32 %r0, 0fBF800000, 0f40000000;", 0xc0000000},
};
constexpr Example kConversions[] = {
    {"cvt.rzi.s32.f32 %r0, 0f4F800000;", 0x7fffffff},
    {"cvt.rzi.u32.f32 %r0, 0fBF800000;", 0},
    {"cvt.rzi.s32.f32 %r0, 0f7FC00000;", 0},
    {"cvt.rni.f32.f32 %r0, 0f40200000;", 0x40000000},
    {"cvt.rn.f32.s32 %r0, -3;", 0xc0400000},
    {"cvt.sat.f32.f32 %r0, 0f40000000;", 0x3f800000},
    {"cvt.rn.f16.f32 %rs0, 0f3F801000; cvt.u32.u16 %r0, %rs0;", 0x3c00},
    {"cvt.rn.bf16.f32 %rs0, 0f3F818000; cvt.u32.u16 %r0, %rs0;", 0x3f82},
    {"cvt.rn.f16.f32 %rs0, 0f7FC00000; cvt.u32.u16 %r0, %rs0;", 0x7fff},
    {"mov.b16 %rs0, 1; cvt.f32.f16 %r0, %rs0;", 0x33800000},
    {"mov.b16 %rs0, -1; cvt.s32.s16 %r0, %rs0;", 0xffffffff},
};
constexpr Example kMeetings[] = {
    {"shfl.sync.idx.b32 %r0, %r15, 9, 31, -1;", 9},
    {"shfl.sync.up.b32 %r0, %r15, 2, 0, -1;", 1},
    {"shfl.sync.down.b32 %r0, %r15, 8, 31, -1;", 9},
    {"shfl.sync.bfly.b32 %r0, %r15, 4, 31, -1;", 5},
    {"shfl.sync.idx.b32 %r0, %r15, 3, 0x1c03, -1;", 3},
    {"shfl.sync.down.b32 %r0|%p0, %r15, 3, 0x1c03, -1; selp.b32 %r0, %r0, 77, %p0;", 77},
    {"setp.gt.u32 %p0, %r15, 29; vote.sync.ballot.b32 %r0, %p0, -1;", 0xc0000000},
    {"setp.lt.u32 %p0, %r15, 4; mov.u32 %r0, 0; @%p0 bra over; mov.u32 %r0, 5; over: "
     "add.u32 %r0, %r0, %r15;",
     1},
    {"mul.lo.u32 %r1, %r15, 4; cvt.u64.u32 %rd0, %r1; mov.u64 %rd1, shared; add.s64 %rd0, %rd0, "
     "%rd1; "
     "st.shared.u32 [%rd0], %r15; bar.sync 0; ld.shared.u32 %r0, [shared+20];",
     5},
};

INSTANTIATE_TEST_SUITE_P(Integer, Instructions, testing::ValuesIn(kIntegers));
INSTANTIATE_TEST_SUITE_P(Float, Instructions, testing::ValuesIn(kFloats));
INSTANTIATE_TEST_SUITE_P(Conversion, Instructions, testing::ValuesIn(kConversions));
INSTANTIATE_TEST_SUITE_P(Meeting, Instructions, testing::ValuesIn(kMeetings));

void expect_fault(Fault::Kind kind, const std::string& statements, unsigned threads = kLanes) {
  try {
    results_of(statements, threads);
    ADD_FAILURE() << "no fault: " << statements;
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.kind, kind) << fault.what();
  }
}

TEST(Faults, AreFound) {
  expect_fault(Fault::Kind::misaligned, "ld.shared.u32 %r0, [shared+2];");
  expect_fault(Fault::Kind::address, "ld.shared.u32 %r0, [shared+1024];");
  expect_fault(Fault::Kind::address, "mov.u64 %rd0, 0; ld.global.u32 %r0, [%rd0];");
  expect_fault(Fault::Kind::address,
               "ld.param.u64 %rd0, [tried_param_0]; ld.global.u32 %r1, [%rd0]; mov.u64 %rd0, -4; "
               "ld.global.u32 %r0, [%rd0];");
  expect_fault(Fault::Kind::race, "st.shared.u32 [shared], %r15;");
  // A shuffle orders no memory; a barrier of the warp does.
  const std::string store = "setp.eq.u32 %p0, %r15, 0; @%p0 st.shared.u32 [shared], %r15; ";
  expect_fault(Fault::Kind::race, store +
                                      "shfl.sync.idx.b32 %r1, %r15, 0, 31, -1; "
                                      "ld.shared.u32 %r0, [shared];");
  EXPECT_EQ(results_of(store + "bar.warp.sync -1; ld.shared.u32 %r0, [shared];")[1], 0U);
  expect_fault(Fault::Kind::race, store + "bar.warp.sync -1; ld.shared.u32 %r0, [shared];", 64);
  // Atomic accesses race with others, not with each other.
  EXPECT_EQ(results_of("atom.shared.exch.b32 %r1, [shared], 3; mov.u32 %r0, 3;", 64)[1], 3U);
  expect_fault(Fault::Kind::race,
               "atom.shared.add.u32 %r1, [shared], 1; ld.shared.u32 %r0, [shared];");
  expect_fault(Fault::Kind::divergence,
               "setp.lt.u32 %p0, %r15, 4; @%p0 bra other; bar.sync 0; bra.uni over; other: "
               "bar.sync 0; over: mov.u32 %r0, 0;");
  expect_fault(Fault::Kind::stuck, "forever: bra.uni forever;");
  expect_fault(Fault::Kind::stuck,
               "setp.lt.u32 %p0, %r15, 4; @%p0 bra over; shfl.sync.idx.b32 %r0, %r15, 0, 31, -1; "
               "over: shfl.sync.idx.b32 %r0, %r15, 0, 31, -1;");
}

TEST(Text, ThatIsNotKnownIsRefused) {
  for (const char* statement :
       {"add.sat.s32 %r0, %r15, 1;", "add.f64 %rd0, %rd1, %rd2;", "min.NaN.f32 %r0, %f0, %f1;",
        "add.s32 %r0, %rd0, 1;", "bra nowhere;", "bar.sync 1;", "nonsense.u32 %r0, %r1;",
        "cp.async.wait_all;", "mov.u32 %r0, %clock;", ".pragma \"nounroll\""}) {
    EXPECT_THROW(results_of(statement), std::exception) << statement;
  }
}

}  // namespace
}  // namespace norite::ptx
