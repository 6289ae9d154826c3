// SPDX-License-Identifier: MIT
#include "core/kernel_key.hpp"

#include "support.hpp"

namespace norite::core {
namespace {

using test::expect_error;
using test::must;

KernelKey key(int64_t width, const char* type) {
  return {"scaled", {{"WIDTH", width}, {"TYPE", type}, {"HAS_SCALE", true}}};
}

TEST(KernelKey, NamesTheSameKernelAsItsId) {
  const KernelId id = key(-8, "half").id();
  EXPECT_EQ(id.name, "scaled");
  EXPECT_EQ(id.specialisation,
            (Specialisation{{"WIDTH", "-8"}, {"TYPE", "half"}, {"HAS_SCALE", "1"}}));
  EXPECT_TRUE(id.constants.empty());
}

TEST(KernelKey, ComparesNamesAndValues) {
  const KernelKey same = key(4, "half");
  EXPECT_EQ(key(4, "half"), same);
  EXPECT_EQ(KernelKeyHash()(key(4, "half")), KernelKeyHash()(same));
  EXPECT_NE(key(8, "half"), same);
  EXPECT_NE(key(4, "float"), same);
  EXPECT_NE((KernelKey{"other", same.macros}), same);
  EXPECT_NE((KernelKey{"scaled", {{"WIDTH", 4}, {"TYPE", "half"}, {"HAS_BIAS", 1}}}), same);
  Macros more = same.macros;
  more.add({{"LOOPED", 0}});
  EXPECT_NE((KernelKey{"scaled", more}), same);
  const KernelKey bare{"scaled", {}}, copied = bare;
  EXPECT_EQ(bare, copied);
  EXPECT_NE(bare, same);
}

TEST(KernelKey, FindsWhatItsIdFinds) {
  const Device device = test::null_device();
  must(device.registry().register_source(
      "scaled", "kernel void scaled(device TYPE* x [[buffer(0)]]) { x[0] = WIDTH; }"));
  const auto found = [&](const KernelKey& wanted) {
    return must(device.registry().get_planned(wanted)).state();
  };
  const auto* by_id = must(device.registry().get_pipeline(key(4, "half").id())).state();
  EXPECT_EQ(found(key(4, "half")), by_id);
  EXPECT_EQ(found(key(4, "half")), by_id);
  EXPECT_EQ(found({"scaled", {{"HAS_SCALE", 1}, {"TYPE", "half"}, {"WIDTH", 4}}}), by_id);
  EXPECT_EQ(device.registry().compiled_count(), 1);
  EXPECT_NE(found(key(4, "float")), by_id);
  EXPECT_EQ(device.registry().compiled_count(), 2);
}

TEST(KernelKey, AFailureIsGivenAgain) {
  const Device device = test::null_device();
  const KernelKey missing{"missing", {}};
  for (int i = 0; i < 2; ++i) {
    expect_error(device.registry().get_planned(missing), Code::not_found, {"missing"});
  }
}

}  // namespace
}  // namespace norite::core
