// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/backend.h"
#include "runtime/version.h"

/// The CUDA backend, in cuda/ where a toolkit was found at configure time and in no_cuda.cpp elsewhere.
namespace gdt::runtime::cuda {

/// GPUs that can be seen; 0 where there are none, or no driver.
[[nodiscard]] int deviceCount();
/// Empty, or one sentence why no GPU can be used: not built in, no driver, no device, or too old a device.
[[nodiscard]] std::string problem(int ordinal);
/// Zeros where it was not built in.
[[nodiscard]] Versions versions();
[[nodiscard]] std::shared_ptr<backend::Device> makeDevice(const DeviceOptions& options);
[[nodiscard]] const backend::ProcessCalls& processCalls();

} // namespace gdt::runtime::cuda
