// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace norite::cpu::msl {

/// `file:line` for each place in a compiled object's code, given as the address behind a call;
/// where that cannot be found out, the address itself.
std::vector<std::string> source_lines(const std::filesystem::path& object,
                                      std::span<const uint32_t> return_addresses);

}  // namespace norite::cpu::msl
