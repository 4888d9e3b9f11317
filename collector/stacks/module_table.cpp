// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/module_table.h"

#include "collector/stacks/loader_look.h"
#include "collector/stacks/python_runtime.h"
#include "collector/stacks/unwinder.h"

#include <algorithm>
#include <cstring>

#include <elf.h>
#include <link.h>
#include <unistd.h>

namespace gd::stacks {

namespace {

struct Counters {
    unsigned long long adds = 0;
    unsigned long long subs = 0;
};

int readCounters(dl_phdr_info* info, std::size_t, void* data) {
    auto& counters = *static_cast<Counters*>(data);
    counters.adds = info->dlpi_adds;
    counters.subs = info->dlpi_subs;
    return 1;
}

std::string hex(const unsigned char* bytes, std::size_t count) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(count * 2);
    for (std::size_t i = 0; i < count; ++i) {
        text += kDigits[bytes[i] >> 4];
        text += kDigits[bytes[i] & 15];
    }
    return text;
}

std::string findBuildId(const unsigned char* notes, std::size_t bytes) {
    std::size_t at = 0;
    while (at + sizeof(ElfW(Nhdr)) <= bytes) {
        ElfW(Nhdr) note;
        std::memcpy(&note, notes + at, sizeof note);
        const std::size_t name = at + sizeof note;
        const std::size_t description = name + ((note.n_namesz + 3U) & ~3U);
        const std::size_t next = description + ((note.n_descsz + 3U) & ~3U);
        if (next > bytes || next <= at) {
            break;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4
            && std::memcmp(notes + name, "GNU", 4) == 0) {
            return hex(notes + description, note.n_descsz);
        }
        at = next;
    }
    return {};
}

std::string executablePath() {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string("unknown");
}

struct Listing {
    std::vector<LoadedModule> modules;
    std::vector<MappedModule> mapped;
    Counters counters;
};

int addModule(dl_phdr_info* info, std::size_t, void* data) {
    auto& listing = *static_cast<Listing*>(data);
    readCounters(info, 0, &listing.counters);
    LoadedModule module;
    MappedModule mapped;
    module.base = info->dlpi_addr;
    module.from = UINT64_MAX;
    mapped.from = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& header = info->dlpi_phdr[i];
        const std::uint64_t from = info->dlpi_addr + header.p_vaddr;
        const std::uint64_t to = from + header.p_memsz;
        if (header.p_type == PT_LOAD) {
            mapped.from = std::min(mapped.from, from);
            mapped.to = std::max(mapped.to, to);
            if ((header.p_flags & PF_X) != 0) {
                module.from = std::min(module.from, from);
                module.to = std::max(module.to, to);
            }
        } else if (header.p_type == PT_GNU_EH_FRAME) {
            mapped.ehFrameHeader = from;
        } else if (header.p_type == PT_NOTE && module.buildId.empty()) {
            module.buildId = findBuildId(reinterpret_cast<const unsigned char*>(from), header.p_memsz);
        }
    }
    if (module.to == 0) {
        return 0; // no code
    }
    module.path = info->dlpi_name != nullptr ? info->dlpi_name : "";
    listing.modules.push_back(std::move(module));
    listing.mapped.push_back(mapped);
    return 0;
}

bool same(const LoadedModule& a, const LoadedModule& b) {
    return a.base == b.base && a.from == b.from && a.to == b.to && a.path == b.path && a.buildId == b.buildId;
}

} // namespace

std::vector<LoadedModule> ModuleTable::poll() {
    Counters now;
    {
        const LoaderLook look;
        dl_iterate_phdr(readCounters, &now);
    }
    if (m_adds == now.adds && m_subs == now.subs) {
        return {};
    }
    Listing listing;
    {
        const LoaderLook look;
        dl_iterate_phdr(addModule, &listing);
    }
    for (auto& module : listing.modules) {
        if (module.path.empty()) { // only the executable has no name
            module.path = executablePath();
        }
    }
    std::sort(listing.mapped.begin(), listing.mapped.end(),
        [](const MappedModule& a, const MappedModule& b) { return a.from < b.from; });
    publishModules(listing.mapped.data(), listing.mapped.size());
    if (m_subs != listing.counters.subs) {
        forgetUnwindRules();
    }
    refreshPythonRuntime(); // one of the new modules may be the interpreter
    std::vector<LoadedModule> added;
    for (const auto& module : listing.modules) {
        const bool known = std::any_of(
            m_known.begin(), m_known.end(), [&](const LoadedModule& old) { return same(old, module); });
        if (!known) {
            added.push_back(module);
        }
    }
    m_known = std::move(listing.modules);
    m_adds = listing.counters.adds;
    m_subs = listing.counters.subs;
    return added;
}

} // namespace gd::stacks
