// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/stacks/fde_lookup.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gd::stacks {

/// One loaded object file.
struct LoadedModule {
    std::uint64_t base = 0; ///< load bias: file address = address - base
    std::uint64_t from = 0; ///< first executable address
    std::uint64_t to = 0; ///< one past the last
    std::string path; ///< as the loader knows it; the executable by its resolved /proc/self/exe
    std::string buildId; ///< lower-case hex, empty when the file has none
};

/// What is loaded into this process, and what was added since the last look.
/// One thread at a time (the collector's own); takes the loader's lock for the time of one pass over the
/// list, which is why no user thread may call it.
class ModuleTable {
public:
    /// Returns the modules that appeared since the last call, in load order (all of them the first time). A
    /// module that was unloaded and came back, at whatever address, is reported again. When nothing was
    /// loaded or unloaded this costs one call to dl_iterate_phdr that looks at one entry. Also refreshes what
    /// the unwinder knows: publishes the snapshot, forgets rules of unloaded
    /// modules and looks for CPython.
    std::vector<LoadedModule> poll();

private:
    std::vector<LoadedModule> m_known; ///< loaded at the last poll
    unsigned long long m_adds = 0;
    unsigned long long m_subs = 0;
};

} // namespace gd::stacks
