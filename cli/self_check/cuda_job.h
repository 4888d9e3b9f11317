// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/self_check/part.h"

#if __has_include(<cuda.h>)
#define GD_SELF_CHECK_CUDA
#include <cuda.h>
#endif

#include <optional>

namespace gd::self_check {

inline Outcome withoutCuda() {
    return absent("this build was made without the CUDA headers", "build with the CUDA toolkit's headers");
}

#ifdef GD_SELF_CHECK_CUDA
// The driver's calls that the job makes, looked up at run time: the program starts on machines without one.
// X(member, exported name)
#define GD_SELF_CHECK_CALLS(X)                                                                               \
    X(init, cuInit)                                                                                          \
    X(driverVersion, cuDriverGetVersion)                                                                     \
    X(deviceCount, cuDeviceGetCount)                                                                         \
    X(device, cuDeviceGet)                                                                                   \
    X(deviceName, cuDeviceGetName)                                                                           \
    X(retainContext, cuDevicePrimaryCtxRetain)                                                               \
    X(setContext, cuCtxSetCurrent)                                                                           \
    X(allocate, cuMemAlloc)                                                                                  \
    X(createStream, cuStreamCreate)                                                                          \
    X(synchronize, cuStreamSynchronize)                                                                      \
    X(beginCapture, cuStreamBeginCapture)                                                                    \
    X(endCapture, cuStreamEndCapture)                                                                        \
    X(fill, cuMemsetD32Async)                                                                                \
    X(loadModule, cuModuleLoadData)                                                                          \
    X(function, cuModuleGetFunction)                                                                         \
    X(launchKernel, cuLaunchKernel)                                                                          \
    X(instantiate, cuGraphInstantiateWithFlags)                                                              \
    X(launchGraph, cuGraphLaunch)                                                                            \
    X(destroyExec, cuGraphExecDestroy)                                                                       \
    X(destroyGraph, cuGraphDestroy)

struct Driver {
#define X(member, name) decltype(&::name) member = nullptr;
    GD_SELF_CHECK_CALLS(X)
#undef X
};

// The first device with a stream in its primary context. Nothing is given back: the process ends soon.
class CudaJob {
public:
    // A value: why there is nothing to run on.
    std::optional<Outcome> open();
    const Driver& driver() const { return m_driver; }
    CUstream stream() const { return m_stream; }
    const std::string& name() const { return m_name; } // of the device
    CUresult allocate(CUdeviceptr& memory, std::size_t bytes) const;
    CUresult wait() const { return m_driver.synchronize(m_stream); }

private:
    std::optional<Outcome> load();

    Driver m_driver;
    CUstream m_stream = nullptr;
    std::string m_name;
};
#endif

} // namespace gd::self_check
