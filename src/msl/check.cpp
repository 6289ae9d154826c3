// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "msl/address_space_errors.hpp"
#include "msl/clang_log.hpp"
#include "msl/lower_clang.hpp"
#include "msl/lower_lint.hpp"
#include "msl/parameters.hpp"
#include "msl/portability.hpp"
#include "msl/source.hpp"
#include "msl/toolchain.hpp"
#include "norite/kernel_text.hpp"

namespace norite {

namespace {

using Severity = Diagnostic::Severity;

class Check {
 public:
  Check(const msl::Module& module, const msl::Toolchain& toolchain)
      : module_(module), toolchain_(toolchain), constants_(msl::zero_constants(module)) {}

  Result<std::vector<Diagnostic>> run() {
    findings_ = msl::check_portability(module_);
    refuse_unsupported();
    NORITE_TRY(compile());
    NORITE_TRY(judge_address_spaces());
    return diagnostics();
  }

 private:
  // What cannot run is said once for each definition; the other kernels are looked at.
  void refuse_unsupported() {
    for (const msl::KernelDefinition& definition : module_.definitions) {
      for (const msl::KernelParameter& parameter : definition.parameters) {
        if (parameter.kind != msl::ParameterKind::unsupported) continue;
        findings_.push_back(
            {Severity::error, parameter.location,
             fmt::format("kernel \"{}\", {}", definition.name, msl::why_unsupported(parameter))});
      }
    }
    std::ranges::copy_if(
        module_.kernels, std::back_inserter(kernels_),
        [&](const msl::Kernel& kernel) { return module_.definition_of(kernel).supported(); });
  }

  Result<void> compile() {
    NORITE_TRY_ASSIGN(
        const auto errors,
        errors_of(msl::lower_all_for_clang(module_, kernels_, constants_), msl::language_flags()));
    for (const msl::ClangError& error : errors) add(error, error.text);
    return {};
  }

  Result<void> judge_address_spaces() {
    NORITE_TRY_ASSIGN(
        const auto errors,
        errors_of(msl::lower_for_lint(module_, kernels_, constants_), msl::lint_flags()));
    std::set<std::tuple<std::string, uint32_t, uint32_t>> said;  // for one instance of a template
    for (const msl::ClangError& error : errors) {
      const auto message = msl::address_space_error(error);
      if (message && said.emplace(error.file, error.line, error.column).second) {
        add(error, *message);
      }
    }
    return {};
  }

  Result<std::vector<msl::ClangError>> errors_of(std::string_view text,
                                                 std::vector<std::string> flags) const {
    const auto readable = msl::readable_log_flags();
    flags.insert(flags.end(), readable.begin(), readable.end());
    NORITE_TRY_ASSIGN(const std::string log, toolchain_.examine(text, flags));
    return msl::read_clang_log(log);
  }

  void add(const msl::ClangError& error, std::string message) {
    const msl::ClangNote* const place = msl::users_place(error);
    if (place == nullptr) {
      const std::string where =
          error.file.empty() ? "" : fmt::format(" ({}:{})", error.file, error.line);
      findings_.push_back({Severity::error, {0, 1, 1}, message + where});
      return;
    }
    const auto& files = module_.text.files;
    const auto file = std::ranges::find(files, place->file);
    findings_.push_back({Severity::error,
                         {static_cast<uint32_t>(file - files.begin()), place->line, place->column},
                         std::move(message)});
  }

  // In the order of the text; instances of a template say the same thing once.
  std::vector<Diagnostic> diagnostics() {
    const auto key = [](const msl::Finding& finding) {
      const msl::Location& at = finding.location;
      return std::tie(at.file, at.line, at.column, finding.message);
    };
    std::ranges::sort(findings_, {}, key);
    std::vector<Diagnostic> result;
    for (msl::Finding& finding : findings_) {
      std::string place = module_.text.where(finding.location);
      const bool said = !result.empty() && result.back().place == place &&
                        result.back().message == finding.message;
      if (!said) {
        result.push_back({finding.severity, std::move(place), std::move(finding.message)});
      }
    }
    return result;
  }

  const msl::Module& module_;
  const msl::Toolchain& toolchain_;
  msl::ConstantValues constants_;
  std::vector<msl::Kernel> kernels_;
  std::vector<msl::Finding> findings_;
};

/// "file:line:column: message" in its two parts.
Diagnostic diagnostic_of(const Error& error) {
  constexpr std::string_view kDigits = "0123456789";
  const std::string_view text = error.message;
  for (size_t end = text.find(": "); end != text.npos; end = text.find(": ", end + 1)) {
    const std::string_view place = text.substr(0, end);
    const size_t column = place.find_last_not_of(kDigits);
    if (column == place.npos || column == 0 || place[column] != ':') continue;
    const size_t line = place.find_last_not_of(kDigits, column - 1);
    if (line == place.npos || place[line] != ':') continue;
    return {Severity::error, std::string(place), std::string(text.substr(end + 2))};
  }
  return {Severity::error, "", error.message};
}

}  // namespace

Result<std::vector<Diagnostic>> check_kernels(const KernelText& text,
                                              const Specialisation& specialisation) {
  const auto module = msl::parse(msl::source_of(text), specialisation);
  if (!module) {
    if (module.error().code != Code::compile_failed) return tl::unexpected(module.error());
    return std::vector{diagnostic_of(module.error())};
  }
  NORITE_TRY_ASSIGN(const auto toolchain, msl::Toolchain::find());
  return Check(*module, toolchain).run();
}

}  // namespace norite
