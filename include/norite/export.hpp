// SPDX-License-Identifier: MIT
#pragma once

#if defined(_WIN32)
#define NORITE_API
#else
#define NORITE_API __attribute__((visibility("default")))
#endif
