// SPDX-License-Identifier: MIT
// Every built-in kernel, with every value of every macro that the case table dispatches it with,
// and Metal's standard library, compiled by NVRTC for the GPUs that there are, where an NVRTC is
// installed. It needs no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <iterator>
#include <mutex>
#include <ranges>
#include <set>
#include <thread>
#include <tuple>

#include "backends/cuda/compile.hpp"
#include "cases/case.hpp"
#include "core/builtin_kernels.hpp"
#include "core/kernel_files.hpp"
#include "core/pipeline.hpp"
#include "msl/lower_nvrtc.hpp"
#include "msl/parameters.hpp"
#include "msl/shim_files.hpp"
#include "msl/source.hpp"
#include "support.hpp"

namespace norite {
namespace {

using test::must;

/// The forms that the cases with this text in their names ask for: recorded where nothing is
/// compiled.
std::vector<KernelId> planned_forms(std::string_view filter) {
  const Device device = must(Device::open("null", {.builtins = BuiltinForm::text}));
  constexpr unsigned kSuites = cases::kVerify | cases::kVerifyGpu | cases::kDemo;
  for (const cases::Case* one : cases::select(kSuites, filter)) {
    const auto problem = must(one->prepare(device, cases::FillKind::none));
    Encoder encoder = device.encoder();
    must(problem->encode(encoder));
  }
  return device.registry().requested();
}

core::KernelSource source_of(const std::string& kernel) {
  for (const core::EmbeddedFile& file : core::kernel_files()) {
    if (!file.path.ends_with("/" + kernel + ".metal")) continue;
    return {kernel, KernelText(std::string(file.text), std::string(file.path)), true};
  }
  throw std::runtime_error("no file of " + kernel);
}

std::string lowered(const core::KernelSource& source, const Specialisation& macros) {
  const auto module = must(msl::parse(msl::source_of(source), macros));
  const auto* const entry = must(msl::find_kernel(module, source.name));
  return must(msl::lower_for_nvrtc(module, *entry, {}, msl::References::by_value));
}

std::string describe(const KernelId& id) {
  std::string text = id.name;
  for (const auto& [name, value] : id.specialisation) text += " " + name + "=" + value;
  return text;
}

struct Form {
  std::string kernel, name, text;
  bool cuda_only;  // what older GPUs cannot do is never asked of them
};

bool is_cuda_only(const std::string& kernel) {
  return std::ranges::any_of(core::kernel_files(), [&](const core::EmbeddedFile& file) {
    return file.path == "cuda/" + kernel + ".metal";
  });
}

/// The kernels that show what Metal's standard library computes (tests/msl/shim_test.cpp).
std::vector<Form> library_forms() {
  std::vector<Form> forms;
  for (const std::string& subject : test::shim_subjects()) {
    const KernelText text = test::shim_text(subject);
    const std::string entry = must(inspect_kernels(text)).kernels.at(0).name;
    forms.push_back({entry, text.file, lowered({entry, text}, {}), false});
  }
  return forms;
}

/// A few forms in which every value of every macro occurs, those that show the most first. One in
/// three also with reads that stay, which NVRTC treats in ways of its own.
std::vector<Form> covering_forms() {
  std::vector<KernelId> planned = planned_forms("");
  for (KernelId& id : planned) id.specialisation.erase("READS_STAY");
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  std::vector<Form> forms;
  for (const int wanted : {4, 3, 2, 1}) {
    for (const KernelId& id : planned) {
      const auto is_new = [&](const auto& macro) {
        return !seen.contains({id.name, macro.first, macro.second});
      };
      if (std::ranges::count_if(id.specialisation, is_new) < wanted) continue;
      for (const auto& [macro, value] : id.specialisation) seen.insert({id.name, macro, value});
      forms.push_back({id.name, describe(id), lowered(source_of(id.name), id.specialisation),
                       is_cuda_only(id.name)});
      if (forms.size() % 4 != 3 || id.name == "sum_partials") continue;
      KernelId staying = id;
      staying.specialisation["READS_STAY"] = "1";
      forms.push_back(
          {id.name, describe(staying), lowered(source_of(id.name), staying.specialisation), true});
    }
  }
  std::ranges::move(library_forms(), std::back_inserter(forms));
  return forms;
}

/// All of them for one architecture; for the others every kernel, and a share of its forms that
/// differs.
std::vector<Form> forms_for(int capability) {
  static const std::vector<Form> all = covering_forms();
  std::vector<Form> chosen;
  std::set<std::string> kernels;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].cuda_only && capability < 80) continue;
    const bool its_turn = (i + static_cast<size_t>(capability)) % 4 == 0;
    if (kernels.insert(all[i].kernel).second || capability == 90 || its_turn) {
      chosen.push_back(all[i]);
    }
  }
  return chosen;
}

TEST(NvrtcForms, HaveEveryBuiltInKernel) {
#if defined(NORITE_TEST_SANITIZED)
  GTEST_SKIP() << "the same forms as without a sanitizer, and they take long to make";
#endif
  std::set<std::string> kernels;
  for (const Form& form : forms_for(90)) kernels.insert(form.kernel);
  for (const core::BuiltinKernel& kernel : core::builtin_kernels()) {
    EXPECT_TRUE(kernels.contains(kernel.name)) << kernel.name;
  }
}

bool knows(const cuda::Nvrtc& nvrtc, int capability) {
  return std::ranges::find(nvrtc.architectures, capability) != nvrtc.architectures.end();
}

class NvrtcArchitecture : public testing::TestWithParam<int> {};

TEST_P(NvrtcArchitecture, CompilesEveryForm) {
#if defined(NORITE_TEST_SANITIZED)
  GTEST_SKIP() << "NVRTC is not sanitized";
#endif
  const auto nvrtc = cuda::load_nvrtc(INT_MAX);
  if (!nvrtc) GTEST_SKIP() << nvrtc.error().message;
  const int capability = GetParam();
  if (!knows(**nvrtc, capability)) {
    GTEST_SKIP() << (*nvrtc)->path << " does not know sm_" << capability;
  }
  const cuda::Compiler compiler{*nvrtc, capability, must(core::ObjectCache::open())};

  const std::vector<Form> forms = forms_for(capability);
  ASSERT_FALSE(forms.empty());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (size_t i = next++; i < forms.size(); i = next++) {
      const auto image = compiler.compile(forms[i].kernel, forms[i].text);
      const std::scoped_lock lock(mutex);
      EXPECT_TRUE(image && !image->empty())
          << forms[i].name << "\n"
          << (image ? "" : image.error().message + "\n" + image.error().log);
    }
  };
  std::vector<std::thread> threads(std::max(1U, std::thread::hardware_concurrency()));
  for (std::thread& thread : threads) thread = std::thread(work);
  for (std::thread& thread : threads) thread.join();
}

/// Whether four neighbouring stores of 32 bits are what one could be.
bool takes_packs_apart(std::string_view ptx) {
  const auto stores_a_word = [](std::string_view line) {
    return std::ranges::any_of(std::array{"u32", "f32", "b32"}, [&](const char* type) {
      return line.starts_with(std::string("\tst.global.") + type);
    });
  };
  int stores = 0;
  for (const auto line : std::views::split(ptx, '\n')) {
    stores = stores_a_word({line.begin(), line.end()}) ? stores + 1 : 0;
    if (stores == 4) return true;
  }
  return false;
}

class NvrtcKernels : public testing::Test {
 protected:
  void SetUp() override {
#if defined(NORITE_TEST_SANITIZED)
    GTEST_SKIP() << "NVRTC is not sanitized";
#endif
    auto loaded = cuda::load_nvrtc(INT_MAX);
    if (!loaded) GTEST_SKIP() << loaded.error().message;
    nvrtc_ = *loaded;
  }

  [[nodiscard]] const cuda::Nvrtc& nvrtc() const { return *nvrtc_; }

  [[nodiscard]] std::string ptx_of(const KernelId& id, int capability = 90) const {
    std::vector<std::string> options = {"--gpu-architecture=compute_" + std::to_string(capability)};
    for (const std::string_view option : msl::nvrtc_options()) options.emplace_back(option);
    return must(nvrtc_->compile(lowered(source_of(id.name), id.specialisation), options));
  }

 private:
  std::shared_ptr<const cuda::Nvrtc> nvrtc_;
};

TEST_F(NvrtcKernels, StoreThePacksOfRowsThatBeginAnywhereWhole) {
  std::set<std::string> seen;  // a form of each kernel is enough
  for (const std::string_view filter : {"dim=4099", "dim=100003"}) {
    for (const KernelId& id : planned_forms(filter)) {
      const auto shifted = id.specialisation.find("SHIFTED");
      if (shifted == id.specialisation.end() || shifted->second != "1") continue;
      if (!seen.insert(id.name).second) continue;
      EXPECT_FALSE(takes_packs_apart(ptx_of(id))) << describe(id);
    }
  }
  EXPECT_EQ(seen, (std::set<std::string>{"rms_norm", "rms_norm_backward", "rms_norm_backward_long",
                                         "rms_norm_long"}));
}

// On newer GPUs they do not (kernels/cuda/staying_reads.h).
TEST_F(NvrtcKernels, SayOfLargeTensorsThatReadsStay) {
  // sum_partials has none: what it reads is small.
  std::set<std::string> left = {"rms_norm", "rms_norm_staged", "rms_norm_backward_long",
                                "fused_head_norm_rope"};
  for (const std::string_view filter : {"dim=40000", "dim=2816", "head_dim=256"}) {
    for (KernelId id : planned_forms(filter)) {
      if (left.erase(id.name) == 0) continue;
      id.specialisation.insert_or_assign("READS_STAY", "1");
      for (const int capability : {80, 90, 100}) {
        if (!knows(nvrtc(), capability)) continue;
        const bool says_so = ptx_of(id, capability).find("L2::cache_hint") != std::string::npos;
        EXPECT_EQ(says_so, capability < 100) << describe(id) << " for sm_" << capability;
      }
    }
  }
  EXPECT_TRUE(left.empty()) << *left.begin();
}

INSTANTIATE_TEST_SUITE_P(sm, NvrtcArchitecture, testing::Values(75, 80, 90, 100),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace norite
