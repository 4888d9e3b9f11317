// SPDX-License-Identifier: Apache-2.0
#include "faults/fault_site.h"

#include <dlfcn.h>

#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <sys/auxv.h>
#include <unistd.h>

namespace gdt::faults {

namespace {

struct Watched {
    std::atomic<bool> any{false};
    std::mutex mutex;
    std::set<std::string> ids;
    std::set<std::pair<std::string, std::string>> printed;
};

Watched& watched() {
    static Watched instance;
    return instance;
}

// The loader knows the program itself only by the name it was started with, which may be relative. Its
// program headers lie in the first page of its image.
std::string modulePath(const Dl_info& info) {
    constexpr std::uintptr_t kPageMask = 0xfff;
    const std::uintptr_t program = ::getauxval(AT_PHDR) & ~kPageMask;
    char path[4096];
    if (reinterpret_cast<std::uintptr_t>(info.dli_fbase) != program) {
        return info.dli_fname;
    }
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : info.dli_fname;
}

} // namespace

void watchSite(const char* id) {
    Watched& w = watched();
    const std::lock_guard lock(w.mutex);
    w.ids.insert(id);
    w.any.store(true, std::memory_order_release);
}

void noteSite(const char* id, const char* call) {
    Watched& w = watched();
    if (!w.any.load(std::memory_order_acquire)) {
        return;
    }
    const auto* instruction = static_cast<const char*>(__builtin_return_address(0)) - 1;
    const std::lock_guard lock(w.mutex);
    if (w.ids.count(id) == 0 || !w.printed.emplace(id, call).second) {
        return;
    }
    Dl_info info{};
    if (dladdr(instruction, &info) == 0) {
        return;
    }
    const auto offset = static_cast<std::uintptr_t>(instruction - static_cast<const char*>(info.dli_fbase));
    std::fprintf(stderr, "fault %s: module=%s offset=0x%" PRIxPTR " call=%s\n", id, modulePath(info).c_str(),
        offset, call);
}

} // namespace gdt::faults
