// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <vector>

namespace gd::facts {

// Numbers of CUresult.
inline constexpr std::int32_t kDeviceAssert = 710;

// Work on the device ended in a way that its context does not survive: every later call returns it, too.
// Source: cuda.h of CUDA 13.0, errors that leave "the process in an inconsistent state", without those of the
// hardware and its links. 4 (deinitialized) is what every call returns while a process ends.
bool isStickyError(std::int32_t result);

// The first call of a process to return such an error.
struct StickyError {
    const ApiCall* call = nullptr; // null: there is none
    std::int64_t calls = 0; // that returned it, this one included
    bool recovered = false; // work of the device succeeded again afterwards: the job had reset it
};
StickyError firstStickyError(const ProcessData& process);

} // namespace gd::facts
