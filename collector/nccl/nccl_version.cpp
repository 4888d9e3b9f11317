// SPDX-License-Identifier: Apache-2.0
#include "collector/nccl/nccl_version.h"

#include "collector/session/sink.h"

#include <atomic>
#include <cstdio>
#include <dlfcn.h>
#include <unistd.h>

namespace gd::nccl {

void reportVersion(const void* inside) noexcept {
    static std::atomic<pid_t> saidIn{0}; // a forked child says it again
    Dl_info module{};
    if (!session::sink::enabled() || saidIn.load(std::memory_order_relaxed) == getpid()
        || dladdr(inside, &module) == 0 || module.dli_fname == nullptr) {
        return;
    }
    saidIn.store(getpid(), std::memory_order_relaxed);
    void* library = dlopen(module.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) {
        return;
    }
    int (*getVersion)(int*) = nullptr; // ncclResult_t ncclGetVersion(int*), nccl.h
    *reinterpret_cast<void**>(&getVersion) = dlsym(library, "ncclGetVersion");
    int version = 0;
    if (getVersion != nullptr && getVersion(&version) == 0 && version > 0) {
        char text[16];
        const int length = std::snprintf(text, sizeof text, "%d", version);
        session::sink::fact("nccl_version", {text, static_cast<std::size_t>(length)});
    }
    dlclose(library); // what RTLD_NOLOAD counted
}

} // namespace gd::nccl
