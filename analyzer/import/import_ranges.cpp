// SPDX-License-Identifier: Apache-2.0
// Table nvtx_range: pairs of range events.
#include "analyzer/import/import_context.h"
#include "analyzer/store/bulk_insert.h"

#include <algorithm>
#include <tuple>
#include <vector>

namespace gd::importer {
namespace {

struct PairedRange {
    std::int64_t startNs;
    std::int64_t endNs; // 0 = still open
    std::int64_t nameId;
    std::int64_t domainId;
    std::string_view kind;
    std::uint32_t depth;
    std::uint64_t payload;
};

// Pairs the events of one process. Push and pop belong to a thread and a domain; start and end may be on
// different threads and are found by their id.
class Pairing {
public:
    explicit Pairing(ProcessImport& process)
        : m_process(process) { }

    void addThread(raw::ThreadRef thread, std::span<raw::Range> events) {
        std::stable_sort(events.begin(), events.end(), [](const raw::Range& a, const raw::Range& b) {
            return std::tie(a.timeNs, a.header.sequence) < std::tie(b.timeNs, b.header.sequence);
        });
        std::map<raw::StringRef, std::vector<Open>> open; // by domain
        std::vector<PairedRange>& ranges = m_ranges[thread];
        for (const raw::Range& event : events) {
            std::vector<Open>& stack = open[event.domain];
            switch (static_cast<raw::RangeOp>(event.op)) {
            case raw::RangeOp::Push:
                stack.push_back({ranges.size(), isInHistory(event)});
                ranges.push_back(opened(event, "push", static_cast<std::uint32_t>(stack.size() - 1)));
                break;
            case raw::RangeOp::Pop:
                pop(stack, event, ranges);
                break;
            case raw::RangeOp::Mark:
                ranges.push_back(opened(event, "mark", static_cast<std::uint32_t>(stack.size())));
                ranges.back().endNs = event.timeNs;
                break;
            case raw::RangeOp::Start:
                m_unbound.push_back({event.timeNs, event.payload, true, thread, ranges.size()});
                ranges.push_back(opened(event, "start", 0));
                break;
            case raw::RangeOp::End:
                m_unbound.push_back({event.timeNs, event.payload, false, thread, 0});
                break;
            }
        }
    }

    void finish() {
        std::stable_sort(m_unbound.begin(), m_unbound.end(),
            [](const Unbound& a, const Unbound& b) { return a.timeNs < b.timeNs; });
        std::unordered_map<std::uint64_t, const Unbound*> open; // by id
        for (const Unbound& event : m_unbound) {
            if (event.isStart) {
                open.insert_or_assign(event.id, &event);
            } else if (const auto found = open.find(event.id); found != open.end()) {
                m_ranges[found->second->thread][found->second->index].endNs = event.timeNs;
                open.erase(found);
            } else {
                ++m_unmatched;
            }
        }
        // Where the oldest events were dropped, so were starts.
        if (m_unmatched != 0 && m_process.raw().eventsFromNs == 0) {
            m_process.issues().info("unmatched_range_end", m_unmatched,
                fmt::format("{} ranges ended whose start was not recorded", m_unmatched));
        }
    }

    std::map<raw::ThreadRef, std::vector<PairedRange>>& ranges() { return m_ranges; }

private:
    struct Open {
        std::size_t index; // among the ranges of the thread
        bool isInHistory;
    };
    // Steps go to the history lane, their end as well; only those name their thread. The others may be
    // missing on either side of a moment from which on events were kept.
    static bool isInHistory(const raw::Range& event) { return raw::threadOf(event) != 0; }

    // A step ends with its own end: ranges inside it whose end is missing ended before, and an end inside it
    // whose start is missing ends nothing.
    void pop(std::vector<Open>& stack, const raw::Range& event, std::vector<PairedRange>& ranges) {
        const bool endsStep = isInHistory(event);
        const auto isStep = [](const Open& open) { return open.isInHistory; };
        if (stack.empty()
            || (endsStep ? std::none_of(stack.begin(), stack.end(), isStep) : isStep(stack.back()))) {
            ++m_unmatched;
            return;
        }
        bool isDone = false;
        while (!isDone) {
            ranges[stack.back().index].endNs = event.timeNs;
            isDone = !endsStep || stack.back().isInHistory;
            stack.pop_back();
        }
    }

    PairedRange opened(const raw::Range& event, std::string_view kind, std::uint32_t depth) {
        const bool isStart = event.op == static_cast<std::uint16_t>(raw::RangeOp::Start);
        return {
            event.timeNs, 0, idOf(event.name), idOf(event.domain), kind, depth, isStart ? 0 : event.payload};
    }
    std::int64_t idOf(raw::StringRef ref) {
        const auto [found, isNew] = m_ids.try_emplace(ref, 0);
        if (isNew)
            found->second = m_process.stringId(m_process.rawText(ref));
        return found->second;
    }

    // A start or an end that is bound to no thread, only to its id.
    struct Unbound {
        std::int64_t timeNs;
        std::uint64_t id;
        bool isStart;
        raw::ThreadRef thread;
        std::size_t index; // of a start among the ranges of its thread
    };
    ProcessImport& m_process;
    std::map<raw::ThreadRef, std::vector<PairedRange>> m_ranges;
    std::vector<Unbound> m_unbound;
    std::unordered_map<raw::StringRef, std::int64_t> m_ids;
    std::uint64_t m_unmatched = 0;
};

class Ranges : public store::RowSource {
public:
    Ranges(const ProcessImport& process, std::span<const PairedRange> rows, raw::ThreadRef thread,
        std::int64_t track)
        : m_process(process)
        , m_rows(rows)
        , m_thread(thread)
        , m_track(track) { }
    static constexpr std::string_view kColumns
        = "track_id, process_id, thread_id, start_ns, end_ns, name_id, "
          "domain_id, kind, depth, payload";

    std::size_t rowCount() const override { return m_rows.size(); }
    store::Cell cell(std::size_t index, int column) const override {
        const PairedRange& row = m_rows[index];
        switch (column) {
        case 0:
            return m_track;
        case 1:
            return m_process.processId();
        case 2:
            return std::int64_t{m_thread};
        case 3:
            return m_process.time(row.startNs);
        case 4:
            return row.endNs == 0 ? store::Cell() : store::Cell(m_process.time(row.endNs));
        case 5:
            return row.nameId;
        case 6:
            return row.domainId;
        case 7:
            return store::Cell::ofText(row.kind);
        case 8:
            return std::int64_t{row.depth};
        default:
            return store::Cell::nullIf(bits(row.payload), 0);
        }
    }

private:
    const ProcessImport& m_process;
    std::span<const PairedRange> m_rows;
    raw::ThreadRef m_thread;
    std::int64_t m_track;
};

} // namespace

Result<void> importRanges(ProcessImport& process) {
    Pairing pairing(process);
    for (auto& [thread, events] : process.raw().threadEvents)
        pairing.addThread(thread, events.ranges.rows());
    pairing.finish();
    for (auto& [thread, ranges] : pairing.ranges()) {
        if (ranges.empty())
            continue;
        // Starts came in order: an outer range lies before the ones inside it.
        GD_TRY_ASSIGN(const std::int64_t track,
            process.addTrack("nvtx_range", {{}, {}, thread}, process.threadName(thread), ranges.size()));
        GD_TRY(store::bulkInsert(
            process.db(), "nvtx_range", Ranges::kColumns, Ranges(process, ranges, thread, track)));
    }
    return {};
}

} // namespace gd::importer
