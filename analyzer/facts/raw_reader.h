// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <functional>

namespace gd::facts {

// Fills RawData from the raw tables, each table in one pass in rowid order. Rows of processes that the
// process table does not have are left out. Used once.
class RawReader {
public:
    explicit RawReader(Db& db)
        : m_db(db) { }
    Result<RawData> read();

private:
    struct Track {
        ProcessData* process = nullptr;
        std::int32_t streamId = 0;
        std::int16_t deviceId = 0;
    };
    using Row = std::function<void(Statement&)>;

    Result<void> eachRow(std::string_view sql, const Row& row);
    ProcessData* process(std::int64_t id);
    Result<void> readNames();
    Result<void> readProcesses();
    Result<void> readCoverage();
    Result<void> readTracks();
    Result<void> readCalls();
    Result<void> readOps();
    Result<void> readReplays();
    Result<void> readRanges();
    Result<void> readGraphs();
    Result<void> readNodes();
    Result<void> readCaptures();
    Result<void> readMemory();
    Result<void> readCommunication();
    void finish();

    Db& m_db;
    RawData m_data;
    std::unordered_map<std::int64_t, std::size_t> m_processIndex;
    std::unordered_map<std::int64_t, Track> m_tracks;
};

} // namespace gd::facts
