// SPDX-License-Identifier: Apache-2.0
// Tables kernel, kernel_shape, memcpy, memset, sync, counter and their tracks.
#include "analyzer/import/import_context.h"
#include "analyzer/import/names.h"
#include "analyzer/import/wrap.h"
#include "analyzer/store/bulk_insert.h"

#include <algorithm>
#include <vector>

namespace gd::importer {
namespace {

using store::Cell;

template <class Row> void sortByStart(std::span<Row> rows) {
    const auto byStart = [](const Row& a, const Row& b) { return a.startNs < b.startNs; };
    // Device work of one stream mostly arrives in order.
    if (!std::is_sorted(rows.begin(), rows.end(), byStart))
        std::stable_sort(rows.begin(), rows.end(), byStart);
}

std::string streamTrackName(std::uint16_t device, std::uint32_t stream) {
    if (stream == raw::kLegacyStream)
        return fmt::format("device {}, legacy default stream", device);
    return fmt::format("device {}, stream {}", device, stream);
}

// Ids of shapes for the rows of one process: a look-up in an array for each kernel.
class ShapeIds {
public:
    explicit ShapeIds(ProcessImport& process)
        : m_process(process) { }
    std::int64_t operator[](raw::ShapeRef ref) const {
        if (ref >= kDirect)
            return m_process.shape(ref).shapeId;
        if (ref >= m_ids.size())
            m_ids.resize(ref + 1, 0);
        if (m_ids[ref] == 0)
            m_ids[ref] = m_process.shape(ref).shapeId;
        return m_ids[ref];
    }

private:
    static constexpr raw::ShapeRef kDirect = 1 << 20;
    ProcessImport& m_process;
    mutable std::vector<std::int64_t> m_ids;
};

class Kernels : public store::RowSource {
public:
    Kernels(const ProcessImport& process, std::span<const KernelRow> rows, const ShapeIds& shapes,
        std::int64_t track)
        : m_process(process)
        , m_rows(rows)
        , m_shapes(shapes)
        , m_track(track) { }
    static constexpr std::string_view kColumns = "track_id, start_ns, dur_ns, shape_id, correlation, node_id";

    std::size_t rowCount() const override { return m_rows.size(); }
    Cell cell(std::size_t index, int column) const override {
        const KernelRow& row = m_rows[index];
        switch (column) {
        case 0:
            return m_track;
        case 1:
            return m_process.time(row.startNs);
        case 2:
            return wrapSubtract(row.endNs, row.startNs);
        case 3:
            return m_shapes[row.shape];
        case 4:
            return Cell::nullIf(bits(row.correlation), 0);
        default:
            return Cell::nullIf(bits(row.node), 0);
        }
    }

private:
    const ProcessImport& m_process;
    std::span<const KernelRow> m_rows;
    const ShapeIds& m_shapes;
    std::int64_t m_track;
};

// What memcpy, memset and sync share: track, start, duration.
template <class Row> class Activities : public store::RowSource {
public:
    Activities(const ProcessImport& process, std::span<const Row> rows, std::int64_t track)
        : m_process(process)
        , m_rows(rows)
        , m_track(track) { }
    static std::string_view columns();

    std::size_t rowCount() const override { return m_rows.size(); }
    Cell cell(std::size_t index, int column) const override {
        const Row& row = m_rows[index];
        switch (column) {
        case 0:
            return m_track;
        case 1:
            return m_process.time(row.startNs);
        case 2:
            return wrapSubtract(row.endNs, row.startNs);
        default:
            return special(row, column - 3);
        }
    }

private:
    static Cell special(const Row& row, int column);

    const ProcessImport& m_process;
    std::span<const Row> m_rows;
    std::int64_t m_track;
};

Cell textOrNull(std::string_view text) {
    return text.empty() ? Cell() : Cell::ofText(text);
}

template <> std::string_view Activities<raw::Memcpy>::columns() {
    return "track_id, start_ns, dur_ns, bytes, copy_kind, src_memory, dst_memory, correlation, node_id";
}
template <> Cell Activities<raw::Memcpy>::special(const raw::Memcpy& row, int column) {
    switch (column) {
    case 0:
        return bits(row.bytes);
    case 1:
        return Cell::ofText(copyKindName(row.copyKind));
    case 2:
        return textOrNull(memoryKindName(row.srcKind));
    case 3:
        return textOrNull(memoryKindName(row.dstKind));
    case 4:
        return Cell::nullIf(bits(row.correlation), 0);
    default:
        return Cell::nullIf(bits(row.node), 0);
    }
}

template <> std::string_view Activities<raw::Memset>::columns() {
    return "track_id, start_ns, dur_ns, bytes, value, correlation, node_id";
}
template <> Cell Activities<raw::Memset>::special(const raw::Memset& row, int column) {
    switch (column) {
    case 0:
        return bits(row.bytes);
    case 1:
        return std::int64_t{row.value};
    case 2:
        return Cell::nullIf(bits(row.correlation), 0);
    default:
        return Cell::nullIf(bits(row.node), 0);
    }
}

template <> std::string_view Activities<raw::Sync>::columns() {
    return "track_id, start_ns, dur_ns, api_id, event_id, correlation";
}
template <> Cell Activities<raw::Sync>::special(const raw::Sync& row, int column) {
    switch (column) {
    case 0:
        return std::int64_t{row.type};
    case 1:
        return Cell::nullIf(bits(row.event), 0);
    default:
        return Cell::nullIf(bits(row.correlation), 0);
    }
}

// Tracks in the order of device and stream, whatever the order of the records.
template <class Row> std::vector<DeviceTrack<Row>*> inOrder(DeviceTracks<Row>& tracks) {
    std::vector<DeviceTrack<Row>*> sorted;
    for (DeviceTrack<Row>& track : tracks.all()) {
        if (!track.rows.empty()) // all may have been taken out
            sorted.push_back(&track);
    }
    std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
        return std::tie(a->device, a->stream) < std::tie(b->device, b->stream);
    });
    return sorted;
}

template <class Row>
Result<std::int64_t> openTrack(ProcessImport& process, std::string_view table, DeviceTrack<Row>& track) {
    const auto rows = track.rows.rows();
    sortByStart(rows);
    process.noteStream(track.stream, track.device, rows.front().startNs);
    return process.addTrack(table, {track.device, idOrNull(track.stream), {}},
        streamTrackName(track.device, track.stream), rows.size());
}

Result<void> importKernels(ProcessImport& process) {
    const ShapeIds shapes(process);
    for (DeviceTrack<KernelRow>* track : inOrder(process.raw().kernels)) {
        GD_TRY_ASSIGN(const std::int64_t id, openTrack(process, "kernel", *track));
        GD_TRY(store::bulkInsert(
            process.db(), "kernel", Kernels::kColumns, Kernels(process, track->rows.rows(), shapes, id)));
        track->rows = {};
    }
    return {};
}

template <class Row>
Result<void> importTracks(ProcessImport& process, std::string_view table, DeviceTracks<Row>& tracks) {
    for (DeviceTrack<Row>* track : inOrder(tracks)) {
        GD_TRY_ASSIGN(const std::int64_t id, openTrack(process, table, *track));
        GD_TRY(store::bulkInsert(process.db(), table, Activities<Row>::columns(),
            Activities<Row>(process, track->rows.rows(), id)));
        track->rows = {};
    }
    return {};
}

Result<void> importCounters(ProcessImport& process) {
    std::map<std::pair<std::string, std::uint32_t>, std::vector<raw::Counter>> series;
    for (const raw::Counter& sample : process.raw().counters)
        series[{std::string(process.rawText(sample.name)), sample.device}].push_back(sample);
    GD_TRY_ASSIGN(Statement insert,
        process.db().prepare("INSERT INTO counter(track_id, time_ns, value) VALUES (?, ?, ?)"));
    for (auto& [key, samples] : series) {
        std::stable_sort(samples.begin(), samples.end(),
            [](const raw::Counter& a, const raw::Counter& b) { return a.timeNs < b.timeNs; });
        GD_TRY_ASSIGN(const std::int64_t track,
            process.addTrack("counter", {key.second, {}, {}}, key.first, samples.size()));
        for (const raw::Counter& sample : samples)
            GD_TRY(insert.runWith(track, process.time(sample.timeNs), sample.value));
    }
    return {};
}

} // namespace

Result<void> importActivity(ProcessImport& process) {
    GD_TRY(importKernels(process));
    GD_TRY(importTracks(process, "memcpy", process.raw().copies));
    GD_TRY(importTracks(process, "memset", process.raw().fills));
    GD_TRY(importTracks(process, "sync", process.raw().syncs));
    return importCounters(process);
}

} // namespace gd::importer
