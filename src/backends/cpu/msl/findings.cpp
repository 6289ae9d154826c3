// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "backends/cpu/msl/source_lines.hpp"

namespace norite::cpu::msl {

namespace {

void describe(const Part& part, const std::string& line, std::string& text) {
  fmt::format_to(std::back_inserter(text), "{} thread {} of group ({}, {}, {})", part.what,
                 part.thread, part.group.x, part.group.y, part.group.z);
  if (part.site != 0) text += " at " + line;
}

}  // namespace

bool Findings::seen(std::string_view kind, uint32_t site, uint32_t other_site) {
  ++total_;
  return findings_.size() == kMost || std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) {
           return key.kind == kind && key.site == site && key.other_site == other_site;
         });
}

void Findings::add(Finding finding) {
  const auto& parts = finding.parts;
  keys_.push_back({finding.kind, parts[0].site, parts.size() > 1 ? parts[1].site : 0});
  findings_.push_back(std::move(finding));
}

Result<void> Findings::report(std::string_view kernel, const KernelObject& object) const {
  if (findings_.empty()) return {};
  std::vector<uint32_t> sites;
  for (const Finding& finding : findings_) {
    for (const Part& part : finding.parts) sites.push_back(part.site);
  }
  const auto lines = source_lines(object.path(), sites);

  std::string text = fmt::format("kernel \"{}\": checked mode found {} kind{} of mistake", kernel,
                                 findings_.size(), findings_.size() == 1 ? "" : "s");
  if (total_ > findings_.size()) fmt::format_to(std::back_inserter(text), ", {} in all", total_);
  size_t line = 0;
  for (const Finding& finding : findings_) {
    fmt::format_to(std::back_inserter(text), "\n  {}: ", finding.kind);
    for (size_t i = 0; i < finding.parts.size(); ++i) {
      if (i > 0) text += ", ";
      describe(finding.parts[i], lines[line++], text);
    }
    if (!finding.where.empty()) text += "; " + finding.where;
  }
  return fail(Code::check_failed, std::move(text));
}

}  // namespace norite::cpu::msl
