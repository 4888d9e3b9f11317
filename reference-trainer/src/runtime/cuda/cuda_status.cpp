// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_status.h"

namespace gdt::runtime::cuda {

Status statusOf(cudaError_t error) {
    if (error == cudaSuccess)
        return Status::Success;
    static_cast<void>(cudaGetLastError());
    switch (error) {
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidMemcpyDirection:
        return Status::InvalidValue;
    case cudaErrorMemoryAllocation:
        return Status::OutOfMemory;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
        return Status::NoDevice;
    case cudaErrorInvalidDevice:
        return Status::InvalidDevice;
    case cudaErrorNoKernelImageForDevice:
        return Status::NoBinaryForGpu;
    default:
        break;
    }
    const int number = static_cast<int>(error);
    return number >= static_cast<int>(Status::InvalidHandle) && number < static_cast<int>(cudaErrorUnknown)
        ? static_cast<Status>(number)
        : Status::LaunchFailed;
}

const char* textOf(cudaError_t error) {
    return cudaGetErrorString(error);
}

} // namespace gdt::runtime::cuda
