// SPDX-License-Identifier: MIT
#include "msl/source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/kernel_files.hpp"
#include "core/parse_real.hpp"

namespace norite::msl {

namespace {

namespace fs = std::filesystem;

std::optional<Header> read_header(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || error) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return Header{path.lexically_normal().string(), std::move(text).str()};
}

// Beside the file that includes it, then in the directories, in their order.
std::optional<Header> header_from_disk(const std::vector<std::string>& directories,
                                       std::string_view name, std::string_view includer) {
  const fs::path wanted(name);
  if (wanted.is_absolute()) return std::nullopt;
  if (auto header = read_header(fs::path(includer).parent_path() / wanted)) return header;
  for (const std::string& directory : directories) {
    if (auto header = read_header(directory / wanted)) return header;
  }
  return std::nullopt;
}

std::optional<Header> header_of_kernels(std::string_view name, std::string_view) {
  for (const core::EmbeddedFile& file : core::kernel_files()) {
    if (file.path == name) return Header{std::string(name), std::string(file.text)};
  }
  return std::nullopt;
}

bool is_value(std::string_view text) {
  if (text == "true" || text == "false") return true;
  const auto value = core::parse_real(text);
  return value && std::isfinite(*value);
}

}  // namespace

Source source_of(const KernelText& text) {
  Source source{text.file.empty() ? "kernel.metal" : text.file, text.text};
  if (!text.include_directories.empty()) {
    source.find_header = [directories = text.include_directories](std::string_view name,
                                                                  std::string_view includer) {
      return header_from_disk(directories, name, includer);
    };
  }
  return source;
}

Source source_of(const core::KernelSource& source) {
  Source result = source_of(source.text);
  if (source.builtin) result.find_header = header_of_kernels;
  return result;
}

Result<ConstantValues> constant_values(const Module& module, const FunctionConstants& given) {
  ConstantValues values;
  for (const auto& [key, value] : given) {
    const auto names = [wanted = std::string_view(key)](const FunctionConstant& constant) {
      return constant.name == wanted || std::to_string(constant.index) == wanted;
    };
    const auto found = std::find_if(module.constants.begin(), module.constants.end(), names);
    if (found == module.constants.end()) {
      return fail(Code::invalid_argument,
                  fmt::format("{}: no function constant \"{}\"", module.text.files[0], key));
    }
    if (!is_value(value)) {
      return fail(
          Code::invalid_argument,
          fmt::format("function constant \"{}\" is \"{}\", expected a number, true or false", key,
                      value));
    }
    values[found->name] = value;
  }
  return values;
}

ConstantValues zero_constants(const Module& module) {
  ConstantValues values;
  for (const FunctionConstant& constant : module.constants) values[constant.name] = "0";
  return values;
}

}  // namespace norite::msl
