// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/driver_api.h"

#include <dlfcn.h>

namespace gd::cupti {

namespace {
DriverApi g_driver;
}

const DriverApi& driverApi() noexcept {
    return g_driver;
}

bool loadDriverApi() noexcept {
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) {
        return false;
    }
#define GD_DRIVER_LOOKUP(member, name, ...)                                                                  \
    *reinterpret_cast<void**>(&g_driver.member) = dlsym(library, name);
    GD_DRIVER_FUNCTIONS(GD_DRIVER_LOOKUP)
#undef GD_DRIVER_LOOKUP
    return g_driver.driverGetVersion != nullptr;
}

void setDriverApi(const DriverApi& api) {
    g_driver = api;
}

} // namespace gd::cupti
