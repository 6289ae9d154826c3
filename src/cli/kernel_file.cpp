// SPDX-License-Identifier: MIT
#include "cli/kernel_file.hpp"

#include "cli/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace norite::cli {
namespace {

namespace fs = std::filesystem;

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool is_name(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), is_name_character);
}

/// Whether the name stands in the text by itself, not inside of a longer one.
bool mentions(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !is_name_character(text[at - 1]);
    if (begins && (end == text.size() || !is_name_character(text[end]))) return true;
  }
  return false;
}

/// The names between quotes of a text's #include lines.
std::vector<std::string> quoted_includes(std::string_view text) {
  std::vector<std::string> names;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const size_t open = line.find('"');
    const size_t close = line.rfind('"');
    if (line.find("include") < open && open < close) {
      names.push_back(line.substr(open + 1, close - open - 1));
    }
  }
  return names;
}

/// A file and what it includes, as far as macros may be used there.
class MacroSearch {
 public:
  explicit MacroSearch(const KernelText& text) : directories_(text.include_directories) {
    add(text.text, fs::path(text.file).parent_path());
  }

  [[nodiscard]] bool finds(std::string_view name) const {
    return std::any_of(texts_.begin(), texts_.end(),
                       [&](const std::string& text) { return mentions(text, name); });
  }

 private:
  void add(const std::string& text, const fs::path& folder) {
    texts_.push_back(text);
    for (const std::string& name : quoted_includes(text)) {
      if (add_file(folder / name)) continue;
      for (const std::string& directory : directories_) {
        if (add_file(fs::path(directory) / name)) break;
      }
    }
  }

  bool add_file(const fs::path& path) {
    const auto text = read_text(path);
    if (!text) return false;
    std::error_code error;
    if (seen_.insert(fs::weakly_canonical(path, error)).second) add(*text, path.parent_path());
    return true;
  }

  const std::vector<std::string>& directories_;
  std::set<fs::path> seen_;
  std::vector<std::string> texts_;
};

Result<Specialisation> parse_defines(const std::vector<std::string>& defines,
                                     const KernelText& text) {
  Specialisation result;
  for (const std::string& define : defines) {
    const size_t equals = define.find('=');
    const std::string name = define.substr(0, equals);
    if (!is_name(name)) {
      return fail(Code::invalid_argument,
                  fmt::format("--define {}: '{}' is no name of a macro", define, name));
    }
    const std::string value = equals == define.npos ? "1" : define.substr(equals + 1);
    if (!result.emplace(name, value).second) {
      return fail(Code::invalid_argument, fmt::format("--define {}: given twice", name));
    }
  }
  if (result.empty()) return result;
  const MacroSearch search(text);
  for (const auto& [name, value] : result) {
    if (search.finds(name)) continue;
    return fail(Code::invalid_argument,
                fmt::format("--define {}: {} uses no macro of that name", name, text.file));
  }
  return result;
}

}  // namespace

Result<KernelFile> load_kernel_file(const KernelOptions& options) {
  NORITE_TRY_ASSIGN(std::string contents, read_text(options.file));
  const fs::path folder = fs::path(options.file).parent_path();
  std::vector<std::string> directories = {folder.empty() ? "." : folder.string()};
  directories.insert(directories.end(), options.include_directories.begin(),
                     options.include_directories.end());
  KernelFile file{KernelText(std::move(contents), options.file, std::move(directories)), {}};
  NORITE_TRY_ASSIGN(file.defines, parse_defines(options.defines, file.text));
  return file;
}

std::string with_hint(std::string message) {
  const bool lacks_file = message.find("could not find include file") != message.npos;
  return lacks_file ? message + " (-I DIR adds a folder to look in)" : message;
}

ExitCode report_kernel(Error error) {
  error.message = with_hint(std::move(error.message));
  return report(error);
}

}  // namespace norite::cli
