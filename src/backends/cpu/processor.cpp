// SPDX-License-Identifier: MIT
#include "backends/cpu/processor.hpp"

#ifdef __APPLE__
#include <sys/sysctl.h>

#include <array>
#else
#include <unistd.h>

#include <fstream>
#endif

namespace norite::cpu {

std::string processor_name() {
#ifdef __APPLE__
  std::array<char, 128> name = {};
  size_t bytes = name.size() - 1;
  const bool known =
      ::sysctlbyname("machdep.cpu.brand_string", name.data(), &bytes, nullptr, 0) == 0;
  return known ? name.data() : "CPU";
#else
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.starts_with("model name")) {
      const size_t colon = line.find(':');
      if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
    }
  }
  return "CPU";
#endif
}

std::optional<int> reported_l1_kib() {
  int64_t bytes = 0;
#if defined(__APPLE__)
  // Of the fast cores, where there are two kinds.
  for (const char* name : {"hw.perflevel0.l1dcachesize", "hw.l1dcachesize"}) {
    size_t size = sizeof(bytes);
    if (::sysctlbyname(name, &bytes, &size, nullptr, 0) == 0) break;
  }
#elif defined(_SC_LEVEL1_DCACHE_SIZE)
  bytes = ::sysconf(_SC_LEVEL1_DCACHE_SIZE);
#endif
  if (bytes <= 0) return std::nullopt;
  return static_cast<int>(bytes >> 10);
}

}  // namespace norite::cpu
