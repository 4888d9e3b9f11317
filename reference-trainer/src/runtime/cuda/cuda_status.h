// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/error.h"

#include <cuda_runtime_api.h>

namespace gdt::runtime::cuda {

/// Status has the driver's numbers. The runtime library's are the same from 400 up, and below that for those
/// listed here; one that has no equal becomes LaunchFailed. Takes the error off the thread, so that a later
/// call does not return it again.
[[nodiscard]] Status statusOf(cudaError_t error);

/// One sentence with the library's own words, for errors that users can do something about.
[[nodiscard]] const char* textOf(cudaError_t error);

} // namespace gdt::runtime::cuda
