// SPDX-License-Identifier: MIT
#include "cases/table.hpp"

#include <fmt/format.h>

#include <iterator>
#include <set>

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

std::vector<Case> join() {
  std::vector<Case> all;
  for (const auto cases_of : kOperations) {
    std::vector<Case> cases = cases_of();
    all.insert(all.end(), std::make_move_iterator(cases.begin()),
               std::make_move_iterator(cases.end()));
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

std::vector<const Case*> select(unsigned suites, std::string_view filter) {
  std::vector<const Case*> selected;
  for (const Case& row : all_cases()) {
    const bool wanted = (row.suites & suites) != 0;
    if (wanted && row.name.find(filter) != std::string::npos) selected.push_back(&row);
  }
  return selected;
}

}  // namespace norite::cases
