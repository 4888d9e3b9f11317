// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/load_draft.h"
#include "gui/model/load_tracks.h"

#include <functional>
#include <string>
#include <vector>

namespace gd::gui {

// Rows of the timeline that come from large tables: streams and calls of the host.
struct LargeRow {
    Draft draft;
    struct Part {
        const Track* track = nullptr;
        std::size_t slice = 0;
    };
    std::vector<Part> parts; // in the order of their slices
};

struct LargeNames {
    const NameIds& kernels; // by shape
    const NameIds& calls; // by api
    std::uint32_t kernel = 0, call = 0, fill = 0; // of what has no name
};

struct LargeResult {
    std::vector<report::CommKernel> comm; // communication kernels, in no order
    std::size_t leftOut = 0; // events that need too many lanes
    std::vector<std::pair<std::string, std::string>> problems; // table and why it could not be read
};

// Reads the rows and delivers each as soon as it is whole, `load.deliver` one at a time. Tracks are read in
// pieces by as many threads as there are cores (a few at most), each over a connection of its own to
// `load.file`; without a file, or when it is not the same trace any more, by the calling thread alone.
LargeResult readLargeRows(TrackLoad& load, std::vector<LargeRow> rows, const LargeNames& names);

} // namespace gd::gui
