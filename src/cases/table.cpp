// SPDX-License-Identifier: MIT
#include "cases/table.hpp"

#include <fmt/format.h>

#include <map>
#include <set>

#include "cases/timing.hpp"

namespace norite::cases {
namespace {

constexpr std::vector<Case> (*kOperations[])() = {
    rms_norm_cases,
    rms_norm_mul_cases,
    residual_rms_norm_cases,
    rms_norm_backward_cases,
    fused_head_norm_rope_cases,
    fused_head_norm_rope_backward_cases,
    rope_cases,
    rope_backward_cases,
    flash_attn_train_bwd_compute_d_cases,
    elementwise_cases,
};

/// A case that several suites ask for is one case of all of them. Two of one suite are a mistake,
/// and stay two.
std::vector<Case> join() {
  std::vector<Case> all;
  std::map<std::string, size_t> places;
  for (const auto cases_of : kOperations) {
    for (Case& one : cases_of()) {
      const auto [place, is_new] = places.emplace(one.name, all.size());
      if (!is_new && (all[place->second].suites & one.suites) == 0) {
        all[place->second].suites |= one.suites;
      } else {
        all.push_back(std::move(one));
      }
    }
  }
  return all;
}

}  // namespace

Prepare require_memory(int64_t bytes, Prepare prepare) {
  return [bytes, prepare = std::move(prepare)](const Device& device,
                                               FillKind fill) -> Result<std::unique_ptr<Problem>> {
    const int64_t available = device.info().memory_bytes;
    if (available >= bytes) return prepare(device, fill);
    return fail(Code::unsupported,
                fmt::format("needs a device with {} GiB of memory, this has {:.1f}", bytes >> 30,
                            static_cast<double>(available) / 0x1p30));
  };
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = join();
  return cases;
}

std::vector<std::string> operations() {
  std::set<std::string> names;
  for (const Case& row : all_cases()) names.insert(row.op);
  return {names.begin(), names.end()};
}

unsigned verify_suites(const Device& device) {
  return runs_on_host(device) ? kVerify : kVerify | kVerifyGpu;
}

std::vector<const Case*> select(unsigned suites, std::string_view filter) {
  std::vector<const Case*> selected;
  for (const Case& row : all_cases()) {
    const bool wanted = (row.suites & suites) != 0;
    if (wanted && row.name.find(filter) != std::string::npos) selected.push_back(&row);
  }
  return selected;
}

std::vector<const Case*> of_operation(unsigned suites, std::string_view op) {
  std::vector<const Case*> selected = select(suites, op);
  std::erase_if(selected, [&](const Case* row) { return row->op != op; });
  return selected;
}

}  // namespace norite::cases
