// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/session_state.h"

#include <cstdint>

namespace gd::session {

/// Finds the spool folder of the environment, creates ring and segment there and writes the segment's first
/// chunk (ProcessStart, where the ring is). Runs on the user's thread at its first record, so it does the
/// least that is needed, about a millisecond. nullptr: not possible, said on stderr once. `parentKey`: a
/// forked child's parent.
SessionState* openSpool(std::uint64_t parentKey) noexcept;

/// The control page of the folder, mapped read-only; nullptr when there is none.
const raw::ControlPage* mapControlPage(const char* spool) noexcept;

/// The level wanted at the start: the page's, else GRAPHDOCTOR_LEVEL, else standard.
raw::RecordingLevel initialLevel(const raw::ControlPage* page) noexcept;
/// The highest level that is asked for without somebody changing the run's: also while `ctl stop` is in
/// force. Before this process has opened its spool; standard without a spool.
raw::RecordingLevel levelOfRun() noexcept;
/// The level that the first record will find, as far as it is known now; not above History before a window
/// of the command line. On a thread of the job.
raw::RecordingLevel levelAtStart() noexcept;
/// What is in force when `wanted` is asked for: less outside the window, unless `ctl` decided. `anyRange`:
/// see RecordingWindow::holds.
raw::RecordingLevel windowedLevel(const SessionState& session, raw::RecordingLevel wanted, std::int64_t nowNs,
    bool anyRange = false) noexcept;

} // namespace gd::session
