// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/storage.hpp"
#include "norite/error.hpp"

namespace norite::cpu {

/// Zeroed host memory, aligned for vectors and, when large, backed by huge pages where the system
/// has them: at streaming speed 4 KiB pages cost a TLB miss every few hundred cycles.
Result<std::shared_ptr<core::Storage>> allocate(std::shared_ptr<core::Backend> backend,
                                                int64_t bytes);
/// The same, aligned to 32 bytes, up to an end that no access may pass by less than 64 MiB.
Result<std::shared_ptr<core::Storage>> allocate_guarded(std::shared_ptr<core::Backend> backend,
                                                        int64_t bytes);

/// Host memory of someone else's, which `owner` keeps.
std::shared_ptr<core::Storage> wrap(std::shared_ptr<core::Backend> backend, uintptr_t address,
                                    int64_t bytes, std::shared_ptr<void> owner);

/// Physical memory of the machine.
int64_t memory_bytes() noexcept;

}  // namespace norite::cpu
