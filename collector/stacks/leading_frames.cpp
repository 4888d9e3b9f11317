// SPDX-License-Identifier: Apache-2.0
#include "collector/stacks/leading_frames.h"

#include "collector/stacks/fde_lookup.h"

#include <atomic>
#include <cstring>

#include <sys/auxv.h>

namespace gd::stacks {

namespace {

struct HiddenModule {
    std::atomic<std::uint64_t> from;
    std::atomic<std::uint64_t> to; ///< stored last; 0 = not yet
};
HiddenModule g_hidden[4];
std::atomic<unsigned> g_count{0};

bool isHidden(std::uint64_t returnAddress) noexcept {
    for (const HiddenModule& module : g_hidden) {
        const std::uint64_t to = module.to.load(std::memory_order_acquire);
        if (returnAddress <= to && returnAddress > module.from.load(std::memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

} // namespace

void hideLeadingFramesOf(const void* address) noexcept {
    MappedModule module;
    const std::uint64_t executable = getauxval(AT_PHDR);
    if (!findModule(reinterpret_cast<std::uint64_t>(address), module)
        || (executable >= module.from && executable < module.to)) {
        return;
    }
    const unsigned place = g_count.fetch_add(1, std::memory_order_relaxed);
    if (place < sizeof g_hidden / sizeof g_hidden[0]) {
        g_hidden[place].from.store(module.from, std::memory_order_relaxed);
        g_hidden[place].to.store(module.to, std::memory_order_release);
    }
}

std::size_t dropHiddenFrames(std::uint64_t* addresses, std::size_t count) noexcept {
    std::size_t hidden = 0;
    while (hidden < count && isHidden(addresses[hidden])) {
        ++hidden;
    }
    count -= hidden;
    std::memmove(addresses, addresses + hidden, count * sizeof addresses[0]);
    return count;
}

} // namespace gd::stacks
