// SPDX-License-Identifier: Apache-2.0
#include "gui/model/flow.h"

#include "analyzer/base/short_list.h"
#include "analyzer/report/comm/calls.h"
#include "gui/model/flow_rows.h"
#include "gui/model/words.h"

#include <algorithm>
#include <map>
#include <set>

namespace gd::gui {
namespace {

// Replays of other executables, or recorded as a whole, that are passed on the way to the next of the same.
constexpr int kOtherReplays = 16;

class FlowReader {
public:
    FlowReader(Db& db, const TrackRow::Place& place, const report::CommMatches* matches)
        : m_db(db)
        , m_rows(db)
        , m_place(place)
        , m_matches(matches) { }

    Result<Flow> read() {
        if (m_place.table == "api_call")
            GD_TRY(ofCall());
        else if (m_place.table == "replay")
            GD_TRY(ofReplay());
        else if (m_place.table == "nccl_op")
            GD_TRY(ofCommCall());
        else if (m_place.table == "kernel" || m_place.table == "memcpy" || m_place.table == "memset")
            GD_TRY(ofWork());
        return std::move(m_flow);
    }

private:
    void add(std::vector<Flow::Link>& side, FlowKind kind, FlowEnd end) {
        if (m_flow.in.size() + m_flow.out.size() < Flow::kMost)
            side.push_back({kind, std::move(end)});
        else
            ++m_flow.left;
    }
    void addAll(std::vector<Flow::Link>& side, FlowKind kind, const std::vector<FlowRows::Work>& all) {
        for (const FlowRows::Work& work : all)
            add(side, kind, work.end);
    }
    void note(const QString& text) { m_flow.notes.push_back(text.toStdString()); }

    Result<void> ofCall() {
        GD_TRY_ASSIGN(const auto call, m_rows.call(m_place.rowId));
        if (!call)
            return {};
        GD_TRY_ASSIGN(const auto replay, m_rows.replayOfCall(*call));
        if (replay && replay->measured) {
            add(m_flow.out, FlowKind::launch, replay->end);
            return {};
        }
        if (call->correlation <= 0)
            return {};
        GD_TRY_ASSIGN(
            const auto work, m_rows.workOf(call->end.process, call->correlation, call->end.startNs));
        addAll(m_flow.out, FlowKind::launch, work);
        if (work.empty() && call->launches)
            note(Words::tr("what this call started is not among the recorded device work that follows it"));
        return {};
    }

    Result<void> ofReplay() {
        GD_TRY_ASSIGN(const auto replay, m_rows.replay(m_place.rowId));
        if (!replay)
            return {};
        GD_TRY_ASSIGN(auto call, m_rows.callAt(replay->end.process, replay->thread, replay->launchNs));
        if (call)
            add(m_flow.in, FlowKind::launch, call->end);
        if (replay->measured) {
            GD_TRY_ASSIGN(
                const auto work, m_rows.workOf(replay->end.process, replay->correlation, replay->launchNs));
            addAll(m_flow.out, FlowKind::child, work);
            if (work.empty())
                note(Words::tr("this replay was recorded as a whole, not node by node"));
        }
        for (const int direction : {-1, 1}) {
            GD_TRY_ASSIGN(const auto beside, m_rows.replayBeside(*replay, direction));
            if (beside)
                add(direction < 0 ? m_flow.in : m_flow.out, FlowKind::dependency, beside->end);
        }
        return {};
    }

    Result<void> ofWork() {
        GD_TRY_ASSIGN(const auto work, m_rows.work(m_place));
        if (!work)
            return {};
        GD_TRY_ASSIGN(const auto replay, m_rows.replayOfWork(*work));
        if (replay) {
            GD_TRY(addEdges(*work, *replay));
            GD_TRY_ASSIGN(m_flow.sameBefore, sameIn(*work, *replay, -1));
            GD_TRY_ASSIGN(m_flow.sameAfter, sameIn(*work, *replay, 1));
            add(m_flow.in, FlowKind::child, replay->end);
        } else {
            GD_TRY_ASSIGN(auto call, m_rows.callOf(work->end.process, work->correlation, work->end.startNs));
            if (call)
                add(m_flow.in, FlowKind::launch, call->end);
            else
                note(Words::tr("the call that started this is not among the recorded calls before it"));
            for (const int direction : {-1, 1}) {
                GD_TRY_ASSIGN(auto beside, m_rows.workBeside(*work, direction));
                if (beside)
                    add(direction < 0 ? m_flow.in : m_flow.out, FlowKind::dependency, beside->end);
            }
        }
        return addCollective(*work);
    }

    Result<std::optional<FlowEnd>> sameIn(
        const FlowRows::Work& work, const FlowRows::Replay& from, int direction) {
        FlowRows::Replay at = from;
        for (int tries = 0; tries < kOtherReplays; ++tries) {
            GD_TRY_ASSIGN(auto beside, m_rows.replayBeside(at, direction));
            if (!beside)
                break;
            at = std::move(*beside);
            if (at.exec != from.exec || !at.measured)
                continue;
            GD_TRY_ASSIGN(const auto all, m_rows.workOf(at.end.process, at.correlation, at.launchNs));
            for (const FlowRows::Work& other : all) {
                if (other.node == work.node)
                    return std::optional(other.end);
            }
        }
        return std::optional<FlowEnd>();
    }

    // Along the edges of the graph, over nodes that leave no trace on the device (events, host functions).
    Result<void> addEdges(const FlowRows::Work& work, const FlowRows::Replay& replay) {
        GD_TRY_ASSIGN(
            const auto siblings, m_rows.workOf(work.end.process, work.correlation, replay.launchNs));
        GD_TRY_ASSIGN(const FlowRows::Edges edges, m_rows.edgesOf(work));
        std::map<std::int64_t, const FlowRows::Work*> byNode;
        for (const FlowRows::Work& sibling : siblings) {
            if (sibling.node >= 0) {
                GD_TRY_ASSIGN(const std::int64_t origin, m_rows.originOf(sibling.end.process, sibling.node));
                byNode[origin] = &sibling;
            }
        }
        const auto walk = [&](const std::multimap<std::int64_t, std::int64_t>& next, auto& side) {
            std::vector<std::int64_t> open = {edges.node};
            std::set<std::int64_t> seen = {edges.node};
            while (!open.empty()) {
                const std::int64_t here = open.back();
                open.pop_back();
                for (auto [at, end] = next.equal_range(here); at != end; ++at) {
                    if (!seen.insert(at->second).second)
                        continue;
                    if (const auto found = byNode.find(at->second); found != byNode.end())
                        add(side, FlowKind::dependency, found->second->end);
                    else
                        open.push_back(at->second);
                }
            }
        };
        walk(edges.backward, m_flow.in);
        walk(edges.forward, m_flow.out);
        return {};
    }

    Result<void> addCollective(const FlowRows::Work& work) {
        if (m_matches == nullptr || work.end.place.table != "kernel")
            return {};
        const auto* const group
            = m_matches->groupOf(m_matches->find(work.end.process, work.end.place.rowId, work.end.startNs));
        if (group == nullptr)
            return {};
        for (const std::uint32_t other : group->kernels) {
            const report::CommKernel& kernel = m_matches->kernels()[other];
            if (kernel.process == work.end.process)
                continue;
            GD_TRY_ASSIGN(const auto there, m_rows.work({"kernel", kernel.rowId}));
            if (there)
                add(m_flow.out, FlowKind::collective, there->end);
        }
        return {};
    }

    Result<void> ofCommCall() {
        GD_TRY_ASSIGN(const auto same, report::sameCall(m_db, m_place.rowId));
        for (const report::SameCall::Call& call : same.calls)
            add(m_flow.out, FlowKind::collective,
                {call.process, {"nccl_op", call.rowId}, call.timeNs, call.timeNs,
                    Words::fill(Words::tr("%1, rank %2"), call.kind, call.rank)});
        if (!same.without.empty())
            m_flow.notes.push_back(Words::fill(
                Words::tr("ranks that made fewer calls of this communicator and never this one: %1"),
                base::shortList(same.without)));
        if (same.isUnclear)
            note(Words::tr(
                "the other ranks' calls are of other kinds up to here: which of them belong to this "
                "one is not known"));
        return {};
    }

    Db& m_db;
    FlowRows m_rows;
    TrackRow::Place m_place;
    const report::CommMatches* m_matches;
    Flow m_flow;
};

} // namespace

Result<Flow> readFlow(Db& db, const TrackRow::Place& place, const report::CommMatches* matches) {
    return FlowReader(db, place, matches).read();
}

std::vector<DetailRow> flowDetails(const Flow& flow) {
    std::vector<DetailRow> out;
    std::string_view before;
    const auto add = [&](const Flow::Link& link, std::string_view key) {
        out.push_back({key == before ? "" : std::string(key), // a run of lines of one kind names it once
            Words::fill(Words::tr("%1, at %2 for %3"), link.end.text, formatTime(link.end.startNs, 1000),
                exactDuration(link.end.endNs - link.end.startNs)),
            {}, 0, link.end.startNs, link.end.endNs});
        before = key;
    };
    for (const Flow::Link& link : flow.in)
        add(link,
            link.kind == FlowKind::launch      ? "launched by"
                : link.kind == FlowKind::child ? "part of"
                                               : "after");
    for (const Flow::Link& link : flow.out) {
        switch (link.kind) {
        case FlowKind::launch:
            add(link, "starts");
            break;
        case FlowKind::child:
            add(link, "consists of");
            break;
        case FlowKind::dependency:
            add(link, "before");
            break;
        case FlowKind::collective:
            add(link, "other ranks");
            break;
        }
    }
    for (const auto& [key, end] : {std::pair("same kernel before", &flow.sameBefore),
             std::pair("same kernel after", &flow.sameAfter)}) {
        if (*end)
            add({FlowKind::child, **end}, key);
    }
    if (flow.left > 0)
        out.push_back({"more", Words::fill(Words::tr("%1 links are not shown"), flow.left), {}, 0, -1, -1});
    for (const std::string& note : flow.notes)
        out.push_back({"flow", note, {}, 0, -1, -1});
    return out;
}

} // namespace gd::gui
