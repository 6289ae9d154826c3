// SPDX-License-Identifier: MIT
// Fixed-width integers for structs that host code and kernels both include.
#pragma once

#ifndef __METAL_VERSION__
#include <stdint.h>
#endif
