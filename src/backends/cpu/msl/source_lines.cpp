// SPDX-License-Identifier: MIT
#include "backends/cpu/msl/source_lines.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/subprocess.hpp"

namespace norite::cpu::msl {

namespace {

constexpr const char* kPrograms[] = {"llvm-addr2line-19", "llvm-addr2line", "addr2line"};

// "././k.metal:12 (discriminator 3)" → "k.metal:12"; empty where the program knew nothing.
std::string_view file_and_line(std::string_view line) {
  line = line.substr(0, line.find(" ("));
  while (line.starts_with("./")) line.remove_prefix(2);  // the folder that objects are compiled for
  return line.ends_with(":?") || line.ends_with(":0") ? std::string_view() : line;
}

// Text of the library goes by the names that clang sees it under; the kernel's own has a #line.
bool is_library_text(std::string_view file_and_line) {
  const std::string_view file = file_and_line.substr(0, file_and_line.rfind(':'));
  return file.ends_with("<stdin>") || file.ends_with("checked_hooks");
}

// The answer holds, for each address, the address and then a line for each inlined call, from the
// inside out.
void read_answer(std::string_view answer, std::vector<std::string>& lines) {
  size_t index = 0;
  bool found = false;
  for (size_t begin = 0; begin < answer.size();) {
    const size_t end = std::min(answer.find('\n', begin), answer.size());
    const std::string_view line = answer.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("0x")) {
      ++index;
      found = false;
      continue;
    }
    const std::string_view place = file_and_line(line);
    if (found || place.empty() || index == 0 || index > lines.size()) continue;
    found = !is_library_text(place);
    if (found || lines[index - 1].starts_with("0x")) lines[index - 1] = place;
  }
}

}  // namespace

std::vector<std::string> source_lines(const std::filesystem::path& object,
                                      std::span<const uint32_t> return_addresses) {
  std::vector<std::string> lines;
  core::Subprocess program{.arguments = {"", "-a", "-i", "-e", object.string()},
                           .time_limit = std::chrono::seconds(20)};
  for (const uint32_t address : return_addresses) {
    lines.push_back(fmt::format("0x{:x}", address));
    program.arguments.push_back(fmt::format("0x{:x}", address - 1));  // the call itself
  }
  if (lines.empty()) return lines;
  for (const char* name : kPrograms) {
    program.arguments[0] = core::find_program(name);
    if (program.arguments[0].empty()) continue;
    if (const auto answer = core::run(program); answer && answer->status == 0) {
      read_answer(answer->output, lines);
      break;
    }
  }
  return lines;
}

}  // namespace norite::cpu::msl
