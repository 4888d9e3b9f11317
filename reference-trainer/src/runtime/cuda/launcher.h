// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace gdt::runtime::cuda {

/// Scratch memory of one stream. Kernels of a stream run one after the other, so each launch may use all of
/// it; what a launcher leaves there for its own second kernel is safe. Captured launches keep the address, so
/// it lives as long as the device.
class Workspace {
public:
    virtual ~Workspace() = default;
    static constexpr std::size_t kBytes = std::size_t{32} << 20;
    /// kBytes of device memory, 256-byte aligned; null when the device has none left. Allocated at the first
    /// call, also inside a capture: nothing that is captured depends on it.
    [[nodiscard]] virtual void* memory() = 0;
};

/// What a launcher may use.
struct LaunchContext {
    cudaStream_t stream;
    Workspace& workspace;
    int multiprocessors; ///< of the device
    bool tf32; ///< see DeviceOptions
};

/// Launches the CUDA version of one kernel type. `arguments` is its Args struct, copied into the launch.
struct Launcher {
    const char* name; ///< of KernelInfo
    cudaError_t (*launch)(const void* arguments, LaunchContext& context);
};

/// The launcher for KernelInfo::name, null when the kernel has no CUDA version. Defined in kernels/cuda.
[[nodiscard]] const Launcher* findLauncher(const char* name);

/// A __global__ function of this build, to ask the device whether it can run our code.
[[nodiscard]] const void* anyKernel();

} // namespace gdt::runtime::cuda
