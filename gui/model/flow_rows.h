// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/model/flow.h"

#include <map>
#include <optional>

namespace gd::gui {

// Rows of a trace as the ends of flows, found through the order in which tables are stored: each track holds
// a range of rowids sorted by start, so a time is found by bisection and only rows near it are looked at.
class FlowRows {
public:
    explicit FlowRows(Db& db)
        : m_db(db) { }

    struct Track {
        std::string table;
        std::int64_t id = 0, device = -1, stream = -1, thread = -1, first = 0, last = -1;
    };
    Result<std::vector<Track>> tracks(std::int64_t process);
    // First rowid of the track that starts at or after a time; last + 1: none.
    Result<std::int64_t> firstAt(const Track& track, std::int64_t timeNs);

    struct Call {
        FlowEnd end;
        std::int64_t correlation = -1; // -1: none, likewise below
        std::int64_t exec = -1; // replays
        bool launches = false; // its class starts device work
    };
    struct Replay {
        FlowEnd end;
        std::int64_t track = 0;
        std::int64_t thread = -1;
        std::int64_t correlation = -1;
        std::int64_t launchNs = 0;
        std::int64_t exec = -1;
        bool measured = false; // false: end.startNs and end.endNs are those of the launch
    };
    struct Work { // a kernel, copy or fill
        FlowEnd end;
        std::int64_t stream = -1;
        std::int64_t device = -1;
        std::int64_t correlation = -1;
        std::int64_t node = -1; // of an executable
    };
    struct Edges { // of the template that a node comes from
        std::int64_t node = -1; // that node's origin
        std::multimap<std::int64_t, std::int64_t> forward, backward;
    };

    Result<std::optional<Call>> call(std::int64_t rowId);
    // The call of a thread that began at this time.
    Result<std::optional<Call>> callAt(std::int64_t process, std::int64_t thread, std::int64_t startNs);
    // The last call with this correlation before a time.
    Result<std::optional<Call>> callOf(std::int64_t process, std::int64_t correlation, std::int64_t beforeNs);
    Result<std::optional<Replay>> replay(std::int64_t rowId);
    Result<std::optional<Replay>> replayOfCall(const Call& call);
    Result<std::optional<Replay>> replayOfWork(const Work& work);
    // The next (1) or previous (-1) one on its track that the device ran.
    Result<std::optional<Replay>> replayBeside(const Replay& replay, int direction);
    Result<std::optional<Work>> work(const TrackRow::Place& place);
    // Everything with this correlation that starts after a time, sorted by start.
    Result<std::vector<Work>> workOf(std::int64_t process, std::int64_t correlation, std::int64_t fromNs);
    // The next (1) or previous (-1) work on its stream.
    Result<std::optional<Work>> workBeside(const Work& work, int direction);
    Result<Edges> edgesOf(const Work& work);
    Result<std::int64_t> originOf(std::int64_t process, std::int64_t node);

private:
    Result<std::optional<Replay>> oneReplay(Statement& rows);

    Db& m_db;
    std::map<std::int64_t, std::vector<Track>> m_tracks;
};

} // namespace gd::gui
