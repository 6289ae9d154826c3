// SPDX-License-Identifier: MIT
#include "cli/kernel_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace norite::cli {
namespace {

/// How many characters must be added, removed or changed (Levenshtein).
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// " Did you mean 'x'?" where a name is near enough to be a slip of the hand.
std::string suggestion(const std::string& wanted, const KernelFileInfo& file) {
  const auto distance = [&](const KernelInfo& kernel) {
    return edit_distance(wanted, kernel.name);
  };
  const auto& nearest = *std::ranges::min_element(file.kernels, {}, distance);
  const bool near = distance(nearest) <= std::max<size_t>(2, wanted.size() / 3);
  return near ? fmt::format(" Did you mean '{}'?", nearest.name) : "";
}

std::string name_list(const KernelFileInfo& file) {
  constexpr size_t kShown = 30;
  std::string list;
  for (size_t i = 0; i < std::min(kShown, file.kernels.size()); ++i) {
    list += fmt::format("\n  {}", file.kernels[i].name);
  }
  if (file.kernels.size() > kShown) {
    list += fmt::format("\n  and {} more; see 'norite kernel list'", file.kernels.size() - kShown);
  }
  return list;
}

}  // namespace

Result<KernelInfo> find_entry(const KernelOptions& options, const KernelFileInfo& file) {
  if (file.kernels.empty()) {
    return fail(Code::bad_file, fmt::format("{}: the file has no kernel", options.file));
  }
  if (options.entry.empty()) {
    if (file.kernels.size() == 1) return file.kernels.front();
    return fail(Code::invalid_argument, fmt::format("--entry must say which kernel of {} to run:{}",
                                                    options.file, name_list(file)));
  }
  const auto found = std::ranges::find(file.kernels, options.entry, &KernelInfo::name);
  if (found != file.kernels.end()) return *found;
  return fail(Code::invalid_argument,
              fmt::format("--entry {}: {} has no kernel of that name.{} It has:{}", options.entry,
                          options.file, suggestion(options.entry, file), name_list(file)));
}

}  // namespace norite::cli
