// SPDX-License-Identifier: Apache-2.0
// The statically linked unwinder of newer compilers needs _dl_find_object (GLIBC_2.35). This hidden
// definition keeps that need out of our dynamic symbols: it forwards to the real one where the C library has
// it, and walks the loaded objects where it has not.
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <link.h>

namespace {

/// Layout of struct dl_find_object of glibc's <dlfcn.h> on x86-64 (2.35).
struct FoundObject {
    unsigned long long flags;
    void* mapStart;
    void* mapEnd;
    struct link_map* linkMap;
    void* ehFrame;
    unsigned long long reserved[7];
};

struct Search {
    std::uintptr_t address;
    FoundObject* found;
};

int visit(dl_phdr_info* info, std::size_t, void* context) {
    auto* search = static_cast<Search*>(context);
    const ElfW(Phdr)* ehFrame = nullptr;
    std::uintptr_t from = ~std::uintptr_t{0};
    std::uintptr_t to = 0;
    bool holds = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        const std::uintptr_t start = info->dlpi_addr + header.p_vaddr;
        if (header.p_type == PT_LOAD) {
            from = start < from ? start : from;
            to = start + header.p_memsz > to ? start + header.p_memsz : to;
            holds = holds || search->address - start < header.p_memsz;
        } else if (header.p_type == PT_GNU_EH_FRAME) {
            ehFrame = &header;
        }
    }
    if (!holds || ehFrame == nullptr) {
        return 0;
    }
    // NOLINTBEGIN(performance-no-int-to-ptr): the loader gives numbers, the interface wants pointers
    *search->found = {};
    search->found->mapStart = reinterpret_cast<void*>(from);
    search->found->mapEnd = reinterpret_cast<void*>(to);
    search->found->ehFrame = reinterpret_cast<void*>(info->dlpi_addr + ehFrame->p_vaddr);
    // NOLINTEND(performance-no-int-to-ptr)
    return 1;
}

} // namespace

extern "C" __attribute__((visibility("hidden"))) int _dl_find_object(
    void* address, struct dl_find_object* result) {
    using Find = int (*)(void*, struct dl_find_object*);
    static const auto real = reinterpret_cast<Find>(dlsym(RTLD_NEXT, "_dl_find_object"));
    if (real != nullptr) {
        return real(address, result);
    }
    Search search{reinterpret_cast<std::uintptr_t>(address), reinterpret_cast<FoundObject*>(result)};
    return dl_iterate_phdr(&visit, &search) == 1 ? 0 : -1;
}
