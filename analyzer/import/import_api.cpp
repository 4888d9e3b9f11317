// SPDX-License-Identifier: Apache-2.0
// Table api_call and its tracks.
#include "analyzer/import/import_context.h"
#include "analyzer/store/bulk_insert.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace gd::importer {
namespace {

constexpr std::string_view kColumns = "track_id, process_id, thread_id, api_id, start_ns, end_ns, result, "
                                      "correlation, device_id, stream_id, object_id, bytes, stack_id";

// A call that has not returned has this as its end.
constexpr std::int64_t kNeverReturned = 0;

raw::ApiCall openCall(const raw::ApiEnter& enter) {
    raw::ApiCall call{};
    call.header = enter.header;
    call.startNs = enter.startNs;
    call.endNs = kNeverReturned;
    call.correlation = enter.correlation;
    call.object = enter.object;
    call.stream = static_cast<std::uint32_t>(enter.stream);
    call.stack = enter.stack;
    call.api = enter.api;
    call.device = static_cast<std::uint8_t>(enter.device);
    return call;
}

// Enters without an exit. An exit that lies in a gap of the thread's records was lost, it did not fail to
// come.
void addOpenCalls(ProcessImport& process, raw::ThreadRef thread, ThreadEvents& events) {
    if (events.enters.empty())
        return;
    const auto order = [](const auto& a, const auto& b) {
        return std::tie(a.startNs, a.api) < std::tie(b.startNs, b.api);
    };
    std::sort(events.enters.rows().begin(), events.enters.rows().end(), order);
    std::vector<raw::ApiCall> open;
    const auto calls = events.calls.rows();
    std::size_t at = 0;
    for (const raw::ApiEnter& enter : events.enters.rows()) {
        // Its exit may have gone with the oldest events.
        if (enter.startNs <= process.raw().eventsFromNs)
            continue;
        while (at < calls.size() && calls[at].startNs < enter.startNs)
            ++at;
        bool returned = false;
        for (std::size_t i = at; i < calls.size() && calls[i].startNs == enter.startNs; ++i)
            returned = returned || calls[i].api == enter.api;
        if (!returned)
            open.push_back(openCall(enter));
    }
    if (open.empty())
        return;
    const auto gaps = process.raw().eventSequences[thread].gaps();
    const auto& ring = process.ring();
    const bool lostAtEnd = ring && ring->loss[1].droppedRecords + ring->loss[1].failedWriteRecords > 0;
    std::uint64_t lost = 0;
    for (const raw::ApiCall& call : open) {
        const bool gapBehind = !gaps.empty() && gaps.back().first + gaps.back().count > call.header.sequence;
        if (gapBehind || lostAtEnd)
            ++lost;
        else
            events.calls.push(call);
    }
    if (lost != 0) {
        process.issues().dataLoss("unfinished_calls", lost,
            fmt::format(
                "{}: {} calls have a start but no end, and records behind them were lost: they are left "
                "out",
                process.threadName(thread), lost));
    }
}

class Calls : public store::RowSource {
public:
    Calls(ProcessImport& process, std::span<const raw::ApiCall> calls, raw::ThreadRef thread,
        std::int64_t track)
        : m_process(process)
        , m_calls(calls)
        , m_thread(thread)
        , m_track(track) { }

    std::size_t rowCount() const override { return m_calls.size(); }
    store::Cell cell(std::size_t row, int column) const override {
        const raw::ApiCall& call = m_calls[row];
        switch (column) {
        case 0:
            return m_track;
        case 1:
            return m_process.processId();
        case 2:
            return std::int64_t{m_thread};
        case 3:
            return std::int64_t{call.api};
        case 4:
            return m_process.time(call.startNs);
        case 5:
            return call.endNs == kNeverReturned ? store::Cell() : store::Cell(m_process.time(call.endNs));
        case 6:
            return call.endNs == kNeverReturned ? store::Cell() : store::Cell(std::int64_t{call.result});
        case 7:
            return store::Cell::nullIf(bits(call.correlation), 0);
        case 8:
            return std::int64_t{call.device};
        case 9:
            return store::Cell::nullIf(call.stream, 0);
        case 10:
            return store::Cell::nullIf(bits(call.object), 0);
        case 11:
            return store::Cell::nullIf(bits(call.bytes), 0);
        default:
            break;
        }
        const auto stack = m_process.stackId(call.stack);
        return stack ? store::Cell(*stack) : store::Cell();
    }

private:
    ProcessImport& m_process;
    std::span<const raw::ApiCall> m_calls;
    raw::ThreadRef m_thread;
    std::int64_t m_track;
};

} // namespace

Result<void> importApi(ProcessImport& process) {
    for (auto& [thread, events] : process.raw().threadEvents) {
        const auto byStart = [](const raw::ApiCall& a, const raw::ApiCall& b) {
            // An outer call comes before the one inside it; one that never returned is outside of all.
            const auto end = [](const raw::ApiCall& call) {
                return call.endNs == kNeverReturned ? std::numeric_limits<std::int64_t>::max() : call.endNs;
            };
            return a.startNs != b.startNs ? a.startNs < b.startNs : end(a) > end(b);
        };
        std::sort(events.calls.rows().begin(), events.calls.rows().end(), byStart);
        addOpenCalls(process, thread, events);
        std::sort(events.calls.rows().begin(), events.calls.rows().end(), byStart);
        if (events.calls.empty())
            continue;
        for (const raw::ApiCall& call : events.calls.rows())
            process.noteStream(call.stream, call.device, call.startNs);
        GD_TRY_ASSIGN(const std::int64_t track,
            process.addTrack("api_call", {{}, {}, thread}, process.threadName(thread), events.calls.size()));
        GD_TRY(store::bulkInsert(
            process.db(), "api_call", kColumns, Calls(process, events.calls.rows(), thread, track)));
    }
    return {};
}

} // namespace gd::importer
