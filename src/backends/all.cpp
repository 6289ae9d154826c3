// SPDX-License-Identifier: MIT
// The backend table: a new backend is one row here and one folder beside this file.
#include <array>

#include "backends/cpu/cpu_backend.hpp"
#include "backends/cuda/cuda_backend.hpp"
#include "backends/metal/metal_backend.hpp"
#include "backends/null/null_backend.hpp"
#include "core/backend.hpp"

namespace norite::core {

std::span<const BackendEntry> backend_table() noexcept {
  static constexpr std::array kTable = {
      BackendEntry{"cuda", cuda::list, cuda::open},
      BackendEntry{"metal", metal::list, metal::open},
      BackendEntry{"cpu", cpu::list, cpu::open},
      BackendEntry{"null", null::list, null::open},
  };
  return kTable;
}

}  // namespace norite::core
