// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/load_draft.h"
#include "gui/model/load_tracks.h"

#include <set>
#include <string>
#include <vector>

namespace gd::gui {

// Communication of all processes: kernels beside those of the other ranks, calls, and what is missing.
class CommLoader {
public:
    CommLoader(TrackLoad& load, std::vector<report::CommKernel> kernels)
        : m_load(load)
        , m_kernels(std::move(kernels)) { }

    // Communication kernels of all streams once more, matched: `load.matches` is filled.
    Result<std::vector<Draft>> readKernels();
    Result<std::vector<Draft>> readCalls();
    // Adds to `load.remarks` what was not recorded, and how it is. After the others.
    Result<void> remark();

private:
    Result<void> match();
    std::string callsTitle(std::int64_t process, std::size_t communicators, const std::string& first) const;
    Result<void> remarkMissingRanks(std::int64_t world);

    TrackLoad& m_load;
    std::vector<report::CommKernel> m_kernels;
    std::set<std::int64_t> m_onDevice, m_withCalls; // processes
};

} // namespace gd::gui
