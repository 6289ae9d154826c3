// SPDX-License-Identifier: MIT
#include "norite/kernel_registry.hpp"

#include <algorithm>
#include <set>

#include "core/kernel_key.hpp"
#include "support.hpp"

namespace norite {
namespace {

using test::expect_error;
using test::expect_refused;
using test::must;

NativeFunction nothing() {
  return [](const NativeCall&) -> Result<void> { return {}; };
}

class KernelRegistryTest : public ::testing::Test {
 protected:
  Device device_ = test::null_device();
  KernelRegistry& registry_ = device_.registry();
};

TEST_F(KernelRegistryTest, text_is_compiled_at_first_use_and_once) {
  must(registry_.register_source("double_it", "kernel void double_it() {}"));
  EXPECT_EQ(registry_.compiled_count(), 0);
  const Pipeline first = must(registry_.get_pipeline({.name = "double_it"}));
  EXPECT_EQ(first.name(), "double_it");
  EXPECT_EQ(registry_.compiled_count(), 1);
  EXPECT_EQ(must(registry_.get_pipeline({.name = "double_it"})).state(), first.state());
  EXPECT_EQ(registry_.compiled_count(), 1);
}

TEST_F(KernelRegistryTest, each_specialisation_is_a_kernel_of_its_own) {
  must(registry_.register_source("tile", "kernel void tile() {}"));
  const auto get = [&](Specialisation macros) {
    return must(registry_.get_pipeline({.name = "tile", .specialisation = std::move(macros)}))
        .state();
  };
  const auto* plain = get({});
  const auto* eight = get({{"ROWS", "8"}});
  const auto* sixteen = get({{"ROWS", "16"}});
  // No way of gluing names and values together may take these for one another.
  const auto* glued = get({{"ROWS", "8 COLS=4"}});
  const auto* both = get({{"ROWS", "8"}, {"COLS", "4"}});
  const std::set<const core::PipelineState*> distinct = {plain, eight, sixteen, glued, both};
  EXPECT_EQ(distinct.size(), 5U);
  EXPECT_EQ(registry_.compiled_count(), 5);

  Specialisation other_order;
  other_order["COLS"] = "4";
  other_order["ROWS"] = "8";
  EXPECT_EQ(get(other_order), both);
  EXPECT_EQ(registry_.compiled_count(), 5);
}

TEST_F(KernelRegistryTest, an_unknown_name_is_not_found) {
  expect_error(registry_.get_pipeline({.name = "nobody"}), Code::not_found, {"nobody", "null"});
  expect_error(registry_.get_pipeline({}), Code::not_found);
  EXPECT_EQ(registry_.compiled_count(), 0);
}

TEST_F(KernelRegistryTest, a_name_is_registered_once) {
  must(registry_.register_source("mine", "kernel void mine() {}"));
  expect_error(registry_.register_source("mine", "other"), Code::already_exists, {"mine"});
  expect_error(registry_.register_native({"mine", {}, nothing()}), Code::already_exists, {"mine"});
  expect_error(registry_.register_source("rms_norm", "text"), Code::already_exists, {"rms_norm"});
  expect_error(registry_.register_native({"rms_norm", {}, nothing()}), Code::already_exists);
}

TEST_F(KernelRegistryTest, text_that_does_not_compile_gives_the_reason_and_is_remembered) {
  must(registry_.register_source("broken", "\n#error no such thing"));
  for (int i = 0; i < 3; ++i) {
    expect_error(registry_.get_pipeline({.name = "broken"}), Code::compile_failed,
                 {"broken.metal:2", "no such thing"});
  }
  EXPECT_EQ(registry_.compiled_count(), 1) << "asking again does not compile again";
}

TEST_F(KernelRegistryTest, what_cannot_be_a_kernel_is_refused) {
  expect_refused(registry_.register_source("", "text"), {"name"});
  expect_refused(registry_.register_source("empty", ""), {"empty", "text"});
  expect_refused(registry_.register_native({"", {}, nothing()}), {"name"});
  expect_refused(registry_.register_native({"hollow", {}, {}}), {"hollow"});
  EXPECT_FALSE(registry_.contains("empty"));
  EXPECT_FALSE(registry_.contains("hollow"));
}

TEST_F(KernelRegistryTest, a_native_kernel_is_never_compiled_and_takes_no_specialisation) {
  must(registry_.register_native({"host", {{"x", Access::read}}, nothing()}));
  const Pipeline pipeline = must(registry_.get_pipeline({.name = "host"}));
  ASSERT_EQ(pipeline.parameters().size(), 1U);
  EXPECT_EQ(pipeline.parameters()[0].name, "x");
  EXPECT_EQ(registry_.compiled_count(), 0);
  expect_refused(registry_.get_pipeline({.name = "host", .specialisation = {{"N", "1"}}}),
                 {"host", "specialisation"});
}

TEST_F(KernelRegistryTest, names_are_sorted_and_hold_the_built_in_kernels) {
  must(registry_.register_source("zeta", "text"));
  must(registry_.register_source("alpha", "text"));
  const auto names = registry_.names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const char* name :
       {"alpha", "zeta", "rms_norm", "rms_norm_backward", "sum_partials", "fused_head_norm_rope",
        "fused_head_norm_rope_backward", "flash_attn_train_bwd_compute_d", "elementwise"}) {
    EXPECT_TRUE(registry_.contains(name)) << name;
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
  EXPECT_FALSE(registry_.contains("alph"));
}

TEST_F(KernelRegistryTest, every_device_has_kernels_of_its_own) {
  must(registry_.register_source("mine", "text"));
  EXPECT_FALSE(test::null_device().registry().contains("mine"));
  EXPECT_NE(must(registry_.get_pipeline({.name = "rms_norm"})).state(),
            must(test::null_device().registry().get_pipeline({.name = "rms_norm"})).state());
}

TEST_F(KernelRegistryTest, a_closed_device_takes_and_gives_no_kernels) {
  must(registry_.register_source("mine", "kernel void mine() {}"));
  must(registry_.register_native({"host", {}, nothing()}));
  must(registry_.get_pipeline({.name = "mine"}));
  const core::KernelKey planned{"mine", {}};
  must(registry_.get_planned(planned));
  device_.close();
  const auto refused = [](const auto& result) {
    expect_error(result, Code::failed_precondition, {"registry", "null", "closed"});
  };
  refused(registry_.register_source("late", "kernel void late() {}"));
  refused(registry_.register_native({"later", {}, nothing()}));
  for (const char* name : {"mine", "host", "rms_norm", "nobody"}) {
    refused(registry_.get_pipeline({.name = name}));
  }
  refused(registry_.get_planned(planned));
  EXPECT_FALSE(registry_.contains("late"));
  EXPECT_FALSE(registry_.contains("later"));
}

TEST(KernelRegistryCpu, has_every_built_in_kernel) {
  EXPECT_EQ(test::cpu_device().registry().names(), test::null_device().registry().names());
}

TEST(Pipeline, an_empty_one_has_no_name_and_no_parameters) {
  EXPECT_FALSE(Pipeline());
  EXPECT_EQ(Pipeline().name(), "");
  EXPECT_TRUE(Pipeline().parameters().empty());
}

}  // namespace
}  // namespace norite
