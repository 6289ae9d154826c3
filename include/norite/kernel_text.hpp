// SPDX-License-Identifier: MIT
// Kernel text (Metal Shading Language): what it holds, and whether it would compile.
#pragma once

#include <norite/error.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace norite {

/// Macros that a kernel's text is compiled with; the order of writing does not matter.
using Specialisation = std::map<std::string, std::string, std::less<>>;
/// Values of function constants, by name or by index ("3"): numbers, true, false.
using FunctionConstants = std::map<std::string, std::string, std::less<>>;

struct KernelText {
  KernelText(std::string kernel_text) : text(std::move(kernel_text)) {}  // NOLINT: text is enough
  KernelText(const char* kernel_text) : text(kernel_text) {}             // NOLINT
  KernelText(std::string kernel_text, std::string file_name,
             std::vector<std::string> directories = {})
      : text(std::move(kernel_text)),
        file(std::move(file_name)),
        include_directories(std::move(directories)) {}

  std::string text;
  std::string file = {};   ///< its name in messages
  std::string entry = {};  ///< the kernel, where it is registered under another name than its own
  /// Where its #include directives look. Without any, nothing is read from the disk.
  std::vector<std::string> include_directories = {};
};

/// A memory argument of a kernel.
struct KernelArgument {
  unsigned index = 0;
  std::string name;
  std::string type;           ///< "float*", "Params&"
  std::string address_space;  ///< "device", "constant", "threadgroup"
  bool read_only = false;
  std::string gate = {};  ///< the function constant without which the argument is absent
};

struct KernelInfo {
  std::string name;
  std::vector<KernelArgument> buffers;
  std::vector<KernelArgument> threadgroup_slots;
  int64_t max_threads_per_group = 0;  ///< as the text limits it; 0 where it does not
  std::string place;                  ///< "file:line:column"
};

struct FunctionConstantInfo {
  unsigned index = 0;
  std::string name;
  std::string type;
};

struct KernelFileInfo {
  std::vector<KernelInfo> kernels;
  std::vector<FunctionConstantInfo> constants;
};

/// The kernels of a text, from their signatures; nothing is compiled. Errors: compile_failed with
/// the place, invalid_argument for a macro that is none.
[[nodiscard]] NORITE_API Result<KernelFileInfo> inspect_kernels(
    const KernelText& text, const Specialisation& specialisation = {});

struct Diagnostic {
  enum class Severity : uint8_t { note, warning, error };
  Severity severity = Severity::error;
  std::string place;  ///< "file:line:column"
  std::string message;
};

/// Compiles every kernel of a text and looks for what Metal would refuse or what would not run
/// everywhere. Function constants are zero. Errors: unsupported where no clang is installed; what
/// is wrong with the text comes as diagnostics.
[[nodiscard]] NORITE_API Result<std::vector<Diagnostic>> check_kernels(
    const KernelText& text, const Specialisation& specialisation = {});

}  // namespace norite
