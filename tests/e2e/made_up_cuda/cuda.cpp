// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 without a device behind it: loads the injected library as the driver does, and tells of one
// device.
#include <cuda.h>

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#define GD_MADE_UP extern "C" __attribute__((visibility("default")))

namespace {

bool g_isReady = false;

int number(const char* variable, int usual) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : usual;
}

} // namespace

GD_MADE_UP CUresult cuInit(unsigned) {
    static bool called = false;
    const char* library = std::getenv("CUDA_INJECTION64_PATH");
    if (!called && library != nullptr) {
        if (void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
            int (*initialize)() = nullptr;
            *reinterpret_cast<void**>(&initialize) = dlsym(handle, "InitializeInjection");
            if (initialize != nullptr) {
                initialize();
            }
        }
    }
    called = true;
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible != nullptr && visible[0] == '\0') {
        return CUDA_ERROR_NO_DEVICE;
    }
    g_isReady = true;
    return CUDA_SUCCESS;
}

GD_MADE_UP CUresult cuDriverGetVersion(int* version) {
    *version = number("GD_DRIVER_VERSION", 13000);
    return CUDA_SUCCESS;
}

GD_MADE_UP CUresult cuDeviceGetCount(int* count) {
    *count = 1;
    return g_isReady ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

GD_MADE_UP CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    *device = ordinal;
    return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

GD_MADE_UP CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
    std::strncpy(name, "Made-up GPU", static_cast<std::size_t>(bytes));
    return CUDA_SUCCESS;
}

GD_MADE_UP CUresult cuGraphMemsetNodeGetParams(CUgraphNode, CUDA_MEMSET_NODE_PARAMS* params) {
    *params = {};
    params->dst = 0x7000;
    params->elementSize = 1;
    params->width = 16;
    params->height = 1;
    return CUDA_SUCCESS;
}

GD_MADE_UP CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
    *bytes = size_t{1} << 30;
    return CUDA_SUCCESS;
}
