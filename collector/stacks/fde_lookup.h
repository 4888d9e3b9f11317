// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/stacks/cfi.h"

#include <cstddef>
#include <cstdint>

namespace gd::stacks {

/// A loaded module as the unwinder needs it. `ehFrameHeader` = 0: it has no unwind table.
struct MappedModule {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
    std::uint64_t ehFrameHeader = 0;
};

/// Room for copies of unwind entries, used only where tables cannot be read in place.
struct TableScratch {
    std::uint8_t common[256];
    std::uint8_t frame[2048];
};

/// Reads from this process without ever faulting; false when any byte is not mapped. ~0.3 µs.
bool readSafely(std::uint64_t address, void* out, std::size_t bytes);

/// The module that holds `pc`. Takes no lock: asks glibc's _dl_find_object (2.35 and newer), else the last
/// published snapshot.
bool findModule(std::uint64_t pc, MappedModule& out);

/// True when findModule() asks the dynamic loader itself, so that it always knows every loaded module.
bool loaderFindsObjects();

/// Replaces the snapshot used where the loader cannot be asked. `modules` sorted by `from`, at most 1024 are
/// kept. One caller at a time (the collector's own thread); readers never wait.
void publishModules(const MappedModule* modules, std::size_t count);

/// The rules for `pc` by the module's unwind table. Rows may point into `scratch`.
bool findUnwindRow(std::uint64_t pc, TableScratch& scratch, UnwindRow& row);

/// Tests use this to try the snapshot on systems whose loader could be asked.
void useSnapshotOnly(bool on);

} // namespace gd::stacks
