// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/raw/chunk.h"
#include "collector/raw/record.h"
#include "collector/raw/ring_header.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace gd::test {

/// One record as it was found; the bytes live in the RawSpool.
struct RawRecord {
    raw::RecordKind kind;
    std::uint32_t sequence;
    const char* bytes;
    std::uint32_t size;

    template <raw::Record R> R as() const {
        R record{};
        std::memcpy(&record, bytes, sizeof record);
        return record;
    }
    template <raw::Record R> std::string tail(std::size_t length) const {
        return {bytes + sizeof(R), length};
    }
};

/// Everything that one process left behind: its segment, the events beside it, then what only the ring holds.
/// Written straight from the description in collector/raw, apart from the importer, so that the two check
/// each other.
class RawSpool {
public:
    explicit RawSpool(const std::string& segment, const std::string& ring);

    std::vector<RawRecord> history; ///< by sequence
    std::map<raw::ThreadRef, std::vector<RawRecord>> events; ///< by sequence
    raw::RingHeader header{}; ///< all zero when there is no ring
    unsigned segmentChunks = 0; ///< of the segment and the events
    std::int64_t eventsFromNs = 0; ///< from the names: 0 = no events were dropped
    std::uint64_t eventBytes = 0; ///< of all pieces
    unsigned ringChunks = 0; ///< chunks and slices that only the ring holds

    template <raw::Record R> std::vector<R> all(const std::vector<RawRecord>& records) const {
        std::vector<R> found;
        for (const RawRecord& record : records) {
            if (record.kind == R::kKind) {
                found.push_back(record.as<R>());
            }
        }
        return found;
    }
    template <raw::Record R> std::vector<R> historyOf() const { return all<R>(history); }
    /// Of all threads.
    template <raw::Record R> std::vector<R> eventsOf() const {
        std::vector<R> found;
        for (const auto& [thread, records] : events) {
            const std::vector<R> some = all<R>(records);
            found.insert(found.end(), some.begin(), some.end());
        }
        return found;
    }
    std::string string(raw::StringRef id) const;
    /// Value of a ProcessFact, empty when there is none.
    std::string fact(const std::string& key) const;

private:
    void addChunk(const raw::ChunkHeader& header, const char* payload, std::uint32_t usedBytes);
    void readFile(const std::string& file);
    void readRing();

    std::vector<std::string> m_files; ///< the segment and the pieces of the event lane
    std::string m_ring;
    std::set<std::pair<int, std::uint64_t>> m_seen;
};

} // namespace gd::test
