// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "gui/model/name_table.h"
#include "gui/model/track_row.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gd::gui {

// A process of the trace, for the headings of the timeline. -1: unknown.
struct ProcessInfo {
    std::int64_t id = 0;
    std::int64_t pid = 0;
    std::int64_t rank = -1;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
};

struct TraceInfo {
    std::string path;
    std::int64_t startNs = 0; // of what the trace covers
    std::int64_t endNs = 1;
    std::vector<ProcessInfo> processes; // by rank, then id

    // Of a process; of one that is not known that of the trace.
    std::int64_t endOf(std::int64_t process) const;
};

Result<TraceInfo> readTraceInfo(Db& db, const std::string& path);

// Reads the rows of an open trace, small tables first, and hands each out as soon as it is whole, from any
// thread but one at a time. Belongs to the thread of the Db. A table that cannot be read, or lacks a column,
// becomes a note and the others are read all the same.
struct TrackLoad {
    Db& db;
    const TraceInfo& info;
    NameTable& names; // filled
    std::function<void(RowPtr)> deliver;
    const std::atomic<bool>& stop; // true: returns soon, with what was delivered so far
    std::string file; // that `db` is of, for more threads that read; empty: only this one does
    std::vector<std::string> notes; // what could not be drawn, sentences for the issues bar
    std::vector<std::string> remarks; // what is not in the trace, and how to get it into the next one
    std::shared_ptr<const report::CommMatches> matches; // filled: communication kernels of all ranks
    std::size_t threads = 0; // at most, that read large tables; 0: by the cores of this machine
    std::int64_t pieceRows = 250'000; // of a large table that a thread reads at once
    std::size_t readers = 0; // filled: threads that read large tables
};
void loadTracks(TrackLoad& load);

// What the events of step rows are called, before a remark in brackets.
std::string stepName(std::int64_t step);

} // namespace gd::gui
