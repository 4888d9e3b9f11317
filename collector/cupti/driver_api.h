// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <cstddef>
#include <type_traits>

namespace gd::cupti {

// X(member, exported name, type of the function). Absent in older drivers: null.
#define GD_DRIVER_FUNCTIONS(X)                                                                               \
    X(driverGetVersion, "cuDriverGetVersion", CUresult(int*))                                                \
    X(deviceGetCount, "cuDeviceGetCount", CUresult(int*))                                                    \
    X(deviceGet, "cuDeviceGet", CUresult(CUdevice*, int))                                                    \
    X(deviceGetName, "cuDeviceGetName", CUresult(char*, int, CUdevice))                                      \
    X(deviceTotalMem, "cuDeviceTotalMem_v2", CUresult(size_t*, CUdevice))                                    \
    X(deviceGetUuid, "cuDeviceGetUuid_v2", CUresult(CUuuid*, CUdevice))                                      \
    X(deviceGetAttribute, "cuDeviceGetAttribute", CUresult(int*, CUdevice_attribute, CUdevice))              \
    X(graphKernelNodeGetParams, "cuGraphKernelNodeGetParams_v2",                                             \
        CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS*))                                                     \
    X(graphMemcpyNodeGetParams, "cuGraphMemcpyNodeGetParams", CUresult(CUgraphNode, CUDA_MEMCPY3D*))         \
    X(graphMemsetNodeGetParams, "cuGraphMemsetNodeGetParams",                                                \
        CUresult(CUgraphNode, CUDA_MEMSET_NODE_PARAMS*))                                                     \
    X(graphHostNodeGetParams, "cuGraphHostNodeGetParams", CUresult(CUgraphNode, CUDA_HOST_NODE_PARAMS*))     \
    X(graphMemAllocNodeGetParams, "cuGraphMemAllocNodeGetParams",                                            \
        CUresult(CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS*))                                                  \
    X(graphMemFreeNodeGetParams, "cuGraphMemFreeNodeGetParams", CUresult(CUgraphNode, CUdeviceptr*))         \
    X(graphNodeGetType, "cuGraphNodeGetType", CUresult(CUgraphNode, CUgraphNodeType*))                       \
    X(funcGetParamInfo, "cuFuncGetParamInfo", CUresult(CUfunction, size_t, size_t*, size_t*))                \
    X(kernelGetParamInfo, "cuKernelGetParamInfo", CUresult(CUkernel, size_t, size_t*, size_t*))              \
    X(funcGetName, "cuFuncGetName", CUresult(const char**, CUfunction))                                      \
    X(kernelGetName, "cuKernelGetName", CUresult(const char**, CUkernel))                                    \
    X(memGetInfo, "cuMemGetInfo_v2", CUresult(size_t*, size_t*))                                             \
    X(deviceGetGraphMemAttribute, "cuDeviceGetGraphMemAttribute",                                            \
        CUresult(CUdevice, CUgraphMem_attribute, void*))                                                     \
    X(deviceGetMemPool, "cuDeviceGetMemPool", CUresult(CUmemoryPool*, CUdevice))                             \
    X(memPoolGetAttribute, "cuMemPoolGetAttribute", CUresult(CUmemoryPool, CUmemPool_attribute, void*))      \
    X(streamIsCapturing, "cuStreamIsCapturing", CUresult(CUstream, CUstreamCaptureStatus*))                  \
    X(streamQuery, "cuStreamQuery", CUresult(CUstream))                                                      \
    X(threadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", CUresult(CUstreamCaptureMode*))

/// Functions of the CUDA driver that is loaded in this process, by name, so that the library loads where
/// there is none. To be called only with the callback guard of the thread held (ThreadCalls::Inside): CUPTI
/// reports these calls too.
struct DriverApi {
#define GD_DRIVER_MEMBER(member, name, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
    GD_DRIVER_FUNCTIONS(GD_DRIVER_MEMBER)
#undef GD_DRIVER_MEMBER
};

/// The table of the loaded libcuda.so.1; all null before loadDriverApi() found one.
const DriverApi& driverApi() noexcept;
/// False: no driver in this process.
bool loadDriverApi() noexcept;

/// Tests put functions of their own in place of the library's.
void setDriverApi(const DriverApi& api);

} // namespace gd::cupti
