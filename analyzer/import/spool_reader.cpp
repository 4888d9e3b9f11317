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
#include <set>

namespace gd::importer {
namespace {

namespace fs = std::filesystem;

ChunkOwner ownerOf(const SpoolSegment& segment) {
    return {segment.name.pid, segment.name.processKey};
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

void readRingOf(const SpoolSegment& segment, SpoolProcess& process, RecordDecoder& decoder, IssueList& issues,
    const BytesRead& bytesRead) {
    for (const fs::path& place : ringPlaces(segment, process.raw)) {
        std::error_code ignored;
        if (!fs::exists(place, ignored))
            continue;
        const std::string name = place.string();
        Result<RingSummary> ring = readRing(
            place, ownerOf(segment), issues, [&](const Chunk& chunk) { decoder.addChunk(chunk, name); },
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

} // namespace

Result<std::vector<SpoolSegment>> findSegments(std::span<const fs::path> folders, IssueList& issues) {
    std::vector<fs::path> files;
    for (const fs::path& folder : folders)
        GD_TRY(addFolder(folder, files));
    std::vector<SpoolSegment> segments;
    std::set<fs::path> seen;
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
        segments.push_back({file, *name, ignored ? 0 : static_cast<std::uint64_t>(bytes)});
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
    GD_TRY(readSegment(
        segment.path, ownerOf(segment), issues,
        [&](const Chunk& chunk) {
            any = true;
            decoder.addChunk(chunk, name);
            return true;
        },
        bytesRead));
    if (!any)
        GD_TRY(checkOwner(segment));
    readRingOf(segment, *process, decoder, issues, bytesRead);
    if (process->raw.records == 0) {
        issues.dataLoss("empty_segment", 1,
            fmt::format("{} ({} bytes) and its ring hold no record", name, segment.bytes));
    }
    return process;
}

} // namespace gd::importer
