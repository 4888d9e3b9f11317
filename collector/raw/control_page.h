// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/version.h"

#include <cstdint>

namespace gd::raw {

inline constexpr std::uint32_t kControlMagic = 0x54434447; // "GDCT"
inline constexpr std::uint32_t kControlPageBytes = 4096;
/// Name of the control page inside a spool folder.
inline constexpr char kControlPageName[] = "control";

/// What the collector is asked to record. Each includes what stands before it.
enum class RecordingLevel : std::uint32_t {
    Off = 0, ///< callbacks disabled too: the cost of a bare run
    History = 1, ///< captures, graphs, allocations, communicators; no activity
    Light = 2,
    Standard = 3,
    Full = 4,
};

/// One page per spool folder, written by `graphdoctor run` or `ctl`, mapped read-only by every process of the
/// job. The collector's own thread polls it every 50 ms; user threads read one word of the process's own
/// memory.
struct ControlPage {
    std::uint32_t magic; ///< kControlMagic, stored last
    std::uint16_t version; ///< kRawVersion
    std::uint16_t reserved;
    std::uint32_t level; ///< RecordingLevel, atomic
    std::uint32_t window; ///< number of the recording window, atomic
    std::uint32_t flushRequest; ///< a change asks every process to flush, atomic
    std::uint32_t generation; ///< grows with every change, stored last with release order, atomic
    std::uint32_t parentPid;
    std::uint32_t redact; ///< 1: command lines, paths and names are to be redacted by the importer
    std::int64_t startNs; ///< CLOCK_MONOTONIC of the run's start; 0: each process counts from its own
    std::uint32_t wantedLevel; ///< RecordingLevel of the run, to which `ctl start` returns
    std::uint32_t manual; ///< 1: `ctl` decides, windows of the command line no longer apply; atomic
    char windows[64]; ///< raw::kEnvWindow of the run, 0-terminated; empty = none
    char stepRange[1024]; ///< --step-range of the run, 0-terminated; empty = none
};
static_assert(sizeof(ControlPage) <= kControlPageBytes);

} // namespace gd::raw
