// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/ranks/comm_link.h"

#include "analyzer/base/statement.h"
#include "analyzer/facts/names.h"

#include <map>
#include <utility>
#include <vector>

namespace gd::report {
namespace {

struct Call {
    std::int64_t commHash = 0, bytes = 0, peer = -1, group = 0;
    std::string kind;
    std::int64_t stream = 0;
    int calls = 1; // of the group: its kernel runs them all
};

class Linker {
public:
    Linker(Db& trace, RankLane& lane)
        : m_trace(trace)
        , m_lane(lane) { }

    Result<void> run(std::int64_t fromNs, std::int64_t toNs) {
        if (m_lane.comm.empty())
            return {};
        GD_TRY_ASSIGN(auto kernel,
            m_trace.prepareReadOnly(
                "SELECT k.node_id, t.stream_id, n.origin_node_id FROM kernel AS k "
                "JOIN track AS t USING (track_id) LEFT JOIN graph_node AS n "
                "ON n.process_id = t.process_id AND n.node_id = k.node_id WHERE k.kernel_id = ?"));
        std::map<std::int64_t, std::vector<CommWork*>> eager; // by stream, by start
        for (CommWork& work : m_lane.comm) {
            kernel.reset();
            kernel.bind(1, work.kernelId);
            GD_TRY_ASSIGN(const bool there, kernel.step());
            if (!there)
                continue;
            if (kernel.isNull(0)) {
                eager[kernel.int64(1)].push_back(&work);
                continue;
            }
            const std::int64_t node = kernel.optionalInt64(2).value_or(kernel.int64(0));
            GD_TRY_ASSIGN(const Call* call, callOfNode(node));
            if (call != nullptr)
                take(work, *call);
        }
        GD_TRY_ASSIGN(const auto calls,
            callsWhere("capture_id IS NULL AND time_ns >= ? AND time_ns < ?", {fromNs, toNs}));
        linkInOrder(eager, calls);
        return {};
    }

private:
    static void take(CommWork& work, const Call& call) {
        work.commHash = call.commHash;
        work.kind = call.calls == 1 ? call.kind : fmt::format("group of {}", call.calls);
        work.bytes = call.bytes;
        work.peer = call.peer;
    }
    static void linkInOrder(
        const std::map<std::int64_t, std::vector<CommWork*>>& kernels, const std::vector<Call>& calls) {
        std::map<std::int64_t, std::vector<const Call*>> byStream;
        for (const Call& call : calls)
            byStream[call.stream].push_back(&call);
        for (const auto& [stream, list] : kernels) {
            const auto at = byStream.find(stream);
            if (at == byStream.end() || at->second.size() != list.size())
                continue;
            for (std::size_t i = 0; i < list.size(); ++i)
                take(*list[i], *at->second[i]);
        }
    }

    // Calls of the process by time; those of one group count once.
    Result<std::vector<Call>> callsWhere(
        const std::string& condition, const std::vector<std::int64_t>& values) {
        std::vector<Call> out;
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly(fmt::format(
                "SELECT comm_hash, message_bytes, coalesce(peer, -1), coalesce(group_id, 0), kind, "
                "coalesce(stream_id, 0) FROM nccl_op WHERE process_id = ? AND {} ORDER BY time_ns, op_id",
                condition)));
        rows.bind(1, m_lane.processId);
        for (std::size_t i = 0; i < values.size(); ++i)
            rows.bind(static_cast<int>(i) + 2, values[i]);
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return out;
            Call call{rows.int64(0), rows.int64(1), rows.int64(2), rows.int64(3), std::string(rows.text(4)),
                rows.int64(5), 1};
            if (!out.empty() && call.group != 0 && out.back().group == call.group
                && out.back().stream == call.stream) {
                ++out.back().calls;
                out.back().bytes += call.bytes;
            } else {
                out.push_back(std::move(call));
            }
        }
    }

    Result<const Call*> callOfNode(std::int64_t node) {
        const auto known = m_nodes.find(node);
        if (known != m_nodes.end())
            return known->second.kind.empty() ? nullptr : &known->second;
        GD_TRY_ASSIGN(auto row,
            m_trace.prepareReadOnly("SELECT comm_op_id, capture_id, origin_node_id FROM graph_node "
                                    "WHERE process_id = ? AND node_id = ?"));
        row.bind(1, m_lane.processId);
        row.bind(2, node);
        GD_TRY_ASSIGN(const bool there, row.step());
        if (there && !row.isNull(0)) {
            GD_TRY_ASSIGN(auto calls, callsWhere("op_id = ?", {row.int64(0)}));
            if (!calls.empty())
                m_nodes[node] = calls.front();
        } else if (there && !row.isNull(2) && row.int64(2) != node) {
            // A node that was cloned twice: the one it comes from knows.
            const std::int64_t origin = row.int64(2);
            m_nodes[node]; // ends the search where nodes name each other
            GD_TRY_ASSIGN(const Call* call, callOfNode(origin));
            if (call != nullptr)
                m_nodes[node] = *call;
        } else if (there && !row.isNull(1)) {
            GD_TRY(linkCapture(row.int64(1)));
        }
        const Call& call = m_nodes[node];
        return call.kind.empty() ? nullptr : &call;
    }

    // The communication nodes of a capture in the order of their creation beside its calls.
    Result<void> linkCapture(std::int64_t capture) {
        GD_TRY_ASSIGN(const auto calls, callsWhere("capture_id = ?", {capture}));
        std::map<std::int64_t, std::vector<std::int64_t>> nodes; // by stream
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly("SELECT node_id, coalesce(stream_id, 0), name FROM graph_node "
                                    "WHERE process_id = ? AND capture_id = ? AND graph_id IS NOT NULL "
                                    "AND type = 'kernel' ORDER BY created_ns, node_id"));
        rows.bind(1, m_lane.processId);
        rows.bind(2, capture);
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                break;
            if (facts::isCommKernel(rows.text(2)))
                nodes[rows.int64(1)].push_back(rows.int64(0));
        }
        std::map<std::int64_t, std::vector<const Call*>> byStream;
        for (const Call& call : calls)
            byStream[call.stream].push_back(&call);
        for (const auto& [stream, list] : nodes) {
            const auto at = byStream.find(stream);
            for (std::size_t i = 0;
                 at != byStream.end() && at->second.size() == list.size() && i < list.size(); ++i)
                m_nodes[list[i]] = *at->second[i];
        }
        return {};
    }

    Db& m_trace;
    RankLane& m_lane;
    std::map<std::int64_t, Call> m_nodes; // template node -> call; empty kind: none
};

} // namespace

Result<void> linkCommunication(Db& trace, RankLane& lane, std::int64_t hostFromNs, std::int64_t hostToNs) {
    return Linker(trace, lane).run(hostFromNs, hostToNs);
}

} // namespace gd::report
