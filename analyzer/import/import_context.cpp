// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/import_context.h"

#include <algorithm>

namespace gd::importer {

std::optional<std::int64_t> ProcessImport::timeIfSet(std::int64_t monotonicNs) const {
    return monotonicNs == 0 ? std::nullopt : std::optional(time(monotonicNs));
}

std::optional<std::int64_t> valueIf(bool known, std::int64_t value) {
    return known ? std::optional(value) : std::nullopt;
}

std::string_view ProcessImport::rawText(raw::StringRef ref) const {
    const auto found = m_source.raw.strings.find(ref);
    return found == m_source.raw.strings.end() ? std::string_view() : std::string_view(found->second.text);
}

std::optional<std::string> ProcessImport::text(raw::StringRef ref) const {
    if (ref == 0 || !m_source.raw.strings.contains(ref))
        return std::nullopt;
    return m_job.cleaner.clean(rawText(ref));
}

std::optional<std::int64_t> ProcessImport::stackId(raw::StackRef ref) {
    if (ref == 0 || !m_source.raw.stacks.contains(ref))
        return std::nullopt;
    const auto [found, isNew] = m_stackIds.emplace(ref, m_job.nextStackId);
    if (isNew)
        ++m_job.nextStackId;
    return found->second;
}

const ShapeInfo& ProcessImport::shape(raw::ShapeRef ref) {
    const auto [found, isNew] = m_shapes.try_emplace(ref);
    ShapeInfo& info = found->second;
    if (!isNew)
        return info;
    raw::KernelShape record{};
    if (const auto known = m_source.raw.shapes.find(ref); known != m_source.raw.shapes.end())
        record = known->second;
    info.name = demangled(rawText(record.name));
    const ImportJob::ShapeKey key{stringId(info.name),
        {record.grid[0], record.grid[1], record.grid[2], record.block[0], record.block[1], record.block[2],
            record.staticSharedBytes, record.dynamicSharedBytes, record.registers}};
    const auto [id, isNewInTrace] = m_job.shapeIds.emplace(key, m_job.nextShapeId);
    if (isNewInTrace)
        ++m_job.nextShapeId;
    info.shapeId = id->second;
    return info;
}

void ProcessImport::noteStream(std::uint64_t stream, std::uint32_t device, std::int64_t firstNs) {
    if (stream == 0)
        return;
    const auto [found, isNew] = seenStreams.emplace(stream, SeenStream{device, firstNs});
    if (!isNew)
        found->second.firstNs = std::min(found->second.firstNs, firstNs);
}

std::string ProcessImport::threadName(raw::ThreadRef thread) const {
    std::string_view name;
    for (const raw::Thread& record : m_source.raw.threads) {
        if (record.thread == thread && record.name != 0)
            name = rawText(record.name);
    }
    return name.empty() ? fmt::format("thread {}", thread) : fmt::format("thread {} ({})", thread, name);
}

Result<std::int64_t> ProcessImport::addTrack(
    std::string_view table, const TrackPlace& place, std::string_view name, std::size_t rows) {
    const auto found = m_job.lastRowId.try_emplace(std::string(table), 0).first;
    std::optional<std::int64_t> first;
    std::optional<std::int64_t> last;
    if (rows != 0) {
        first = found->second + 1;
        found->second += static_cast<std::int64_t>(rows);
        last = found->second;
    }
    GD_TRY_ASSIGN(Statement insert,
        m_job.db.prepare(
            "INSERT INTO track(track_id, process_id, table_name, device_id, stream_id, thread_id, "
            "name, first_rowid, last_rowid, row_count) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    const std::int64_t id = m_job.nextTrackId++;
    GD_TRY(insert.runWith(id, m_processId, table, place.device, place.stream, place.thread,
        m_job.cleaner.clean(name), first, last, rows));
    return id;
}

} // namespace gd::importer
