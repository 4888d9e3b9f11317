// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/spool_reader.h"

#include "analyzer/import/record_decoder.h"
#include "analyzer/import/segment_reader.h"
#include "collector/raw/spool_name.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

namespace gd::importer {
namespace {

namespace fs = std::filesystem;

ChunkOwner ownerOf(const SpoolSegment& segment) {
    return {segment.name.pid, segment.name.processKey};
}

// The pieces of event lanes in a folder, by the stem of their segment.
using EventsByStem = std::map<std::string, std::vector<EventsFile>, std::less<>>;

EventsByStem eventsIn(const fs::path& folder) {
    EventsByStem found;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        const auto name = parseEventsName(it->path().filename().string());
        if (!name)
            continue;
        std::error_code ignored;
        const std::uintmax_t bytes = it->file_size(ignored);
        found[name->stem].push_back({it->path(), *name, ignored ? 0 : static_cast<std::uint64_t>(bytes)});
    }
    for (auto& [stem, files] : found) {
        std::sort(files.begin(), files.end(),
            [](const EventsFile& a, const EventsFile& b) { return a.name.number < b.name.number; });
    }
    return found;
}

// Events whose segment is gone say nothing: names and graphs are in the segment.
void reportOrphans(const EventsByStem& events, const std::vector<SpoolSegment>& segments, IssueList& issues) {
    for (const auto& [stem, files] : events) {
        const bool isClaimed = std::any_of(segments.begin(), segments.end(),
            [&stem = stem](const SpoolSegment& segment) { return segment.name.stem == stem; });
        if (!isClaimed)
            issues.dataLoss("segment_missing", files.size(),
                fmt::format("{} is left out: its segment {}{} is missing", files.front().path.string(), stem,
                    raw::kSegmentSuffix));
    }
}

Result<void> addFolder(const fs::path& folder, std::vector<fs::path>& files) {
    std::error_code error;
    if (fs::is_regular_file(folder, error)) {
        files.push_back(folder);
        return {};
    }
    fs::directory_iterator entries(folder, error);
    if (error)
        return fail(error == std::errc::no_such_file_or_directory ? ErrorCode::notFound : ErrorCode::io,
            "cannot read the spool folder {}: {}", folder.string(), error.message());
    for (const fs::directory_entry& entry : entries) {
        if (entry.path().extension() == raw::kSegmentSuffix)
            files.push_back(entry.path());
    }
    return {};
}

// Where the ring of a process may lie: where the process said, beside the segment, or where it is by default.
std::vector<fs::path> ringPlaces(const SpoolSegment& segment, const RawProcess& process) {
    std::vector<fs::path> places;
    for (const raw::ProcessFact& fact : process.facts) {
        const auto key = process.strings.find(fact.key);
        const auto value = process.strings.find(fact.value);
        if (key != process.strings.end() && key->second.text == "ring_path" && value != process.strings.end())
            places.emplace_back(value->second.text);
    }
    const std::string file = segment.name.stem + raw::kRingSuffix;
    places.push_back(segment.path.parent_path() / file);
    const std::uint32_t uid = process.start ? process.start->uid : ::geteuid();
    const std::string folder = raw::kFolderPrefix + std::to_string(uid);
    if (const char* runtimeFolder = std::getenv("XDG_RUNTIME_DIR"); runtimeFolder != nullptr)
        places.push_back(fs::path(runtimeFolder) / folder / file);
    places.push_back(fs::path("/dev/shm") / folder / file);
    return places;
}

// Which chunks are in the files and which in the ring: a chunk stays in the ring until it is written.
class Written {
public:
    void inFile(const Chunk& chunk) {
        if (!chunk.cutOff)
            m_whole.insert(keyOf(chunk.header));
    }
    void inRing(const Chunk& chunk) { m_ring.insert(keyOf(chunk.header)); }
    void tornAt(std::optional<TornEnd> end) {
        if (end)
            m_torn.push_back(std::move(*end));
    }
    // What was being written when the process ended is lost only where the ring does not hold it either.
    void report(IssueList& issues) const {
        const auto isNew = [this](const Key& key) { return m_whole.count(key) == 0; };
        for (const TornEnd& end : m_torn) {
            const bool covered = end.header ? m_ring.count(keyOf(*end.header)) != 0
                                            : std::any_of(m_ring.begin(), m_ring.end(), isNew);
            if (!covered)
                issues.dataLoss("cut_off_segment", 1, end.sentence);
        }
    }

private:
    using Key = std::pair<std::uint8_t, std::uint64_t>; // lane, number in it
    static Key keyOf(const raw::ChunkHeader& header) { return {header.lane, header.chunkSequence}; }

    std::set<Key> m_whole;
    std::set<Key> m_ring;
    std::vector<TornEnd> m_torn;
};

void readRingOf(const SpoolSegment& segment, SpoolProcess& process, RecordDecoder& decoder, Written& written,
    IssueList& issues, const BytesRead& bytesRead) {
    for (const fs::path& place : ringPlaces(segment, process.raw)) {
        std::error_code ignored;
        if (!fs::exists(place, ignored))
            continue;
        const std::string name = place.string();
        Result<RingSummary> ring = readRing(
            place, ownerOf(segment), issues,
            [&](const Chunk& chunk) {
                written.inRing(chunk);
                decoder.addChunk(chunk, name);
            },
            bytesRead);
        if (ring) {
            process.ring = *ring;
            process.ringPath = place;
            return;
        }
        issues.dataLoss("unreadable_ring", 1, ring.error().message);
    }
    if (!process.ring && !process.raw.end) {
        issues.dataLoss("ring_missing", 1,
            fmt::format("{}: the process did not end its session and its ring was not found; what it had not "
                        "written to the segment yet is lost",
                segment.path.string()));
    }
}

// A segment whose chunks all belong to somebody else was renamed or mixed up.
Result<void> checkOwner(const SpoolSegment& segment) {
    raw::ChunkHeader header{};
    std::ifstream file(segment.path, std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(&header), sizeof header) || header.magic != raw::kChunkMagic)
        return {};
    if (header.pid == segment.name.pid && header.processKey == segment.name.processKey)
        return {};
    return fail(ErrorCode::badInput, "{} holds records of process {} ({:016x}), its name says {} ({:016x})",
        segment.path.string(), header.pid, header.processKey, segment.name.pid, segment.name.processKey);
}

// Reads the pieces of the event lane that are there. The oldest may go away at any moment while the process
// lives.
void readEventsOf(const SpoolSegment& segment, SpoolProcess& process, RecordDecoder& decoder,
    Written& written, IssueList& issues, const BytesRead& bytesRead) {
    std::optional<std::uint64_t> expected;
    for (const EventsFile& file : segment.events) {
        const std::string name = file.path.string();
        std::optional<TornEnd> torn;
        const Result<void> read = readSegment(
            file.path, ownerOf(segment), issues,
            [&](const Chunk& chunk) {
                written.inFile(chunk);
                decoder.addChunk(chunk, name);
                return true;
            },
            bytesRead, &torn);
        written.tornAt(std::move(torn));
        std::error_code ignored;
        if (!read && !expected && !fs::exists(file.path, ignored))
            continue;
        if (!read)
            issues.dataLoss("unreadable_events", 1, read.error().message);
        if (!expected && file.name.number != 0)
            process.raw.eventsFromNs = file.name.sinceNs;
        if (expected && *expected != file.name.number)
            issues.dataLoss("missing_events", file.name.number - *expected,
                fmt::format("{}: {} pieces of the process's events before this one are missing", name,
                    file.name.number - *expected));
        expected = file.name.number + 1;
    }
}

} // namespace

std::uint64_t SpoolSegment::allBytes() const {
    std::uint64_t sum = bytes;
    for (const EventsFile& file : events)
        sum += file.bytes;
    return sum;
}

Result<std::vector<SpoolSegment>> findSegments(std::span<const fs::path> folders, IssueList& issues) {
    std::vector<fs::path> files;
    for (const fs::path& folder : folders)
        GD_TRY(addFolder(folder, files));
    std::vector<SpoolSegment> segments;
    std::set<fs::path> seen;
    std::map<fs::path, EventsByStem> eventsByFolder;
    for (const fs::path& file : files) {
        std::error_code ignored;
        if (!seen.insert(fs::weakly_canonical(file, ignored)).second)
            continue;
        const auto name = parseSegmentName(file.filename().string());
        if (!name) {
            issues.error("foreign_segment", 1,
                fmt::format(
                    "{} is left out: expected a name like <host>.<pid>.<start>.<random>.seg", file.string()));
            continue;
        }
        const std::uintmax_t bytes = fs::file_size(file, ignored);
        const fs::path folder = file.parent_path();
        const auto beside = eventsByFolder.try_emplace(folder);
        if (beside.second)
            beside.first->second = eventsIn(folder.empty() ? "." : folder);
        segments.push_back({file, *name, ignored ? 0 : static_cast<std::uint64_t>(bytes), {}});
        if (const auto own = beside.first->second.find(name->stem); own != beside.first->second.end())
            segments.back().events = own->second;
    }
    for (const fs::path& folder : folders) {
        if (fs::is_directory(folder))
            reportOrphans(eventsIn(folder), segments, issues);
    }
    std::sort(segments.begin(), segments.end(), [](const SpoolSegment& a, const SpoolSegment& b) {
        return std::tie(a.name.startNs, a.name.pid, a.name.processKey, a.path)
            < std::tie(b.name.startNs, b.name.pid, b.name.processKey, b.path);
    });
    return segments;
}

std::optional<raw::ProcessStart> readProcessStart(const SpoolSegment& segment) {
    RawProcess process;
    IssueList ignored;
    const auto lookAt = [&process](const Chunk& chunk) {
        walkRecords(chunk, [&process](const RecordView& record) {
            if (record.header.kind != static_cast<std::uint16_t>(raw::RecordKind::ProcessStart)
                || process.start)
                return;
            process.start.emplace();
            std::memcpy(&*process.start, record.data, sizeof(raw::ProcessStart));
        });
        return !process.start.has_value();
    };
    static_cast<void>(readSegment(segment.path, ownerOf(segment), ignored, lookAt, {}));
    if (process.start)
        return process.start;
    for (const fs::path& place : ringPlaces(segment, process)) {
        const auto ring
            = readRing(place, ownerOf(segment), ignored, [&](const Chunk& chunk) { lookAt(chunk); }, {});
        if (ring && process.start)
            return process.start;
    }
    return std::nullopt;
}

Result<std::unique_ptr<SpoolProcess>> readProcess(
    const SpoolSegment& segment, IssueList& issues, const BytesRead& bytesRead) {
    auto process = std::make_unique<SpoolProcess>();
    RecordDecoder decoder(process->raw, issues);
    const std::string name = segment.path.string();
    bool any = false;
    Written written;
    std::optional<TornEnd> torn;
    GD_TRY(readSegment(
        segment.path, ownerOf(segment), issues,
        [&](const Chunk& chunk) {
            any = true;
            written.inFile(chunk);
            decoder.addChunk(chunk, name);
            return true;
        },
        bytesRead, &torn));
    written.tornAt(std::move(torn));
    if (!any)
        GD_TRY(checkOwner(segment));
    readEventsOf(segment, *process, decoder, written, issues, bytesRead);
    readRingOf(segment, *process, decoder, written, issues, bytesRead);
    written.report(issues);
    if (process->raw.records == 0) {
        issues.dataLoss("empty_segment", 1,
            fmt::format("{} ({} bytes) and its ring hold no record", name, segment.bytes));
    }
    return process;
}

} // namespace gd::importer
