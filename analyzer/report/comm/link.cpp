// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/comm/link.h"

#include "analyzer/base/statement.h"
#include "analyzer/facts/names.h"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace gd::report {
namespace {

// A call of nccl_op, or a group of them that one kernel runs.
struct Made {
    CommCall call;
    std::int64_t group = 0;
    std::int64_t stream = 0;
    int calls = 1; // of the group
};

class Linker {
public:
    Linker(Db& trace, std::int64_t process, CommCalls& calls)
        : m_trace(trace)
        , m_process(process)
        , m_calls(calls) { }

    Result<void> run(std::span<CommKernel> kernels, std::int64_t fromNs, std::int64_t toNs) {
        GD_TRY(readStreams());
        std::map<std::int64_t, std::vector<CommKernel*>> eager; // by stream, by start
        for (CommKernel& kernel : kernels) {
            if (kernel.node < 0) {
                eager[kernel.stream].push_back(&kernel);
                continue;
            }
            GD_TRY_ASSIGN(kernel.call, callOfExecNode(kernel.node));
        }
        GD_TRY_ASSIGN(const auto made,
            callsWhere("capture_id IS NULL AND time_ns >= ? AND time_ns < ?", {fromNs, toNs}));
        std::map<std::int64_t, std::vector<const Made*>> byStream;
        for (const Made& call : made)
            byStream[call.stream].push_back(&call);
        for (const auto& [stream, list] : eager) {
            const auto& there = byStream[stream];
            for (std::size_t i = 0; i < list.size(); ++i)
                list[i]->call = there.size() == list.size() ? numberOf(*there[i]) : onlyOf(m_eager, stream);
        }
        return {};
    }

private:
    using OnlyOnes = std::map<std::int64_t, std::int64_t>; // stream -> the only communicator used on it

    Result<void> readStreams() {
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly(
                "SELECT stream_id, capture_id IS NOT NULL, min(comm_hash) FROM nccl_op WHERE process_id = ? "
                "AND stream_id IS NOT NULL GROUP BY 1, 2 HAVING min(comm_hash) = max(comm_hash)"));
        rows.bind(1, m_process);
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            (rows.int64(1) != 0 ? m_captured : m_eager)[rows.int64(0)] = rows.int64(2);
        }
    }
    std::uint32_t onlyOf(const OnlyOnes& streams, std::int64_t stream) {
        const auto at = streams.find(stream);
        return at == streams.end() ? 0 : m_calls.add({at->second, {}, 0, -1});
    }
    std::uint32_t numberOf(const Made& made) {
        CommCall call = made.call;
        if (made.calls > 1)
            call.kind = fmt::format("group of {}", made.calls);
        return m_calls.add(call);
    }

    // Calls of the process by time; those of one group count once.
    Result<std::vector<Made>> callsWhere(
        const std::string& condition, const std::vector<std::int64_t>& values) {
        std::vector<Made> out;
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly(fmt::format(
                "SELECT comm_hash, message_bytes, coalesce(peer, -1), coalesce(group_id, 0), kind, "
                "coalesce(stream_id, 0) FROM nccl_op WHERE process_id = ? AND {} ORDER BY time_ns, op_id",
                condition)));
        rows.bind(1, m_process);
        for (std::size_t i = 0; i < values.size(); ++i)
            rows.bind(static_cast<int>(i) + 2, values[i]);
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return out;
            Made made{{rows.int64(0), std::string(rows.text(4)), rows.int64(1), rows.int64(2)}, rows.int64(3),
                rows.int64(5), 1};
            if (!out.empty() && made.group != 0 && out.back().group == made.group
                && out.back().stream == made.stream) {
                ++out.back().calls;
                out.back().call.bytes += made.call.bytes;
            } else {
                out.push_back(std::move(made));
            }
        }
    }

    Result<std::uint32_t> callOfExecNode(std::int64_t node) {
        const auto [known, isNew] = m_execNodes.try_emplace(node, 0);
        if (!isNew)
            return known->second;
        GD_TRY_ASSIGN(auto row,
            m_trace.prepareReadOnly(
                "SELECT coalesce(origin_node_id, node_id) FROM graph_node WHERE process_id = ? "
                "AND node_id = ?"));
        row.bind(1, m_process);
        row.bind(2, node);
        GD_TRY_ASSIGN(const bool there, row.step());
        if (!there)
            return std::uint32_t{0};
        const std::int64_t origin = row.int64(0);
        GD_TRY_ASSIGN(std::uint32_t call, callOfNode(origin));
        if (call == 0) {
            GD_TRY_ASSIGN(const auto stream, captureStream(origin));
            call = stream ? onlyOf(m_captured, *stream) : 0;
        }
        return m_execNodes[node] = call;
    }
    Result<std::optional<std::int64_t>> captureStream(std::int64_t node) {
        GD_TRY_ASSIGN(auto row,
            m_trace.prepareReadOnly("SELECT stream_id FROM graph_node WHERE process_id = ? AND node_id = ?"));
        row.bind(1, m_process);
        row.bind(2, node);
        GD_TRY_ASSIGN(const bool there, row.step());
        return there ? row.optionalInt64(0) : std::nullopt;
    }

    Result<std::uint32_t> callOfNode(std::int64_t node) {
        const auto known = m_nodes.find(node);
        if (known != m_nodes.end())
            return known->second;
        m_nodes[node] = 0; // ends the search where nodes name each other
        GD_TRY_ASSIGN(auto row,
            m_trace.prepareReadOnly("SELECT comm_op_id, capture_id, origin_node_id FROM graph_node "
                                    "WHERE process_id = ? AND node_id = ?"));
        row.bind(1, m_process);
        row.bind(2, node);
        GD_TRY_ASSIGN(const bool there, row.step());
        if (there && !row.isNull(0)) {
            GD_TRY_ASSIGN(const auto made, callsWhere("op_id = ?", {row.int64(0)}));
            if (!made.empty())
                m_nodes[node] = numberOf(made.front());
        } else if (there && !row.isNull(2) && row.int64(2) != node) {
            // A node that was cloned twice: the one it comes from knows.
            const std::int64_t origin = row.int64(2);
            GD_TRY_ASSIGN(const std::uint32_t call, callOfNode(origin));
            m_nodes[node] = call;
        } else if (there && !row.isNull(1)) {
            GD_TRY(linkCapture(row.int64(1)));
        }
        return m_nodes[node];
    }

    // The communication nodes of a capture in the order of their creation beside its calls.
    Result<void> linkCapture(std::int64_t capture) {
        if (!m_linked.insert(capture).second)
            return {};
        GD_TRY_ASSIGN(const auto made, callsWhere("capture_id = ?", {capture}));
        std::map<std::int64_t, std::vector<std::int64_t>> nodes; // by stream
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly("SELECT node_id, coalesce(stream_id, 0), name FROM graph_node "
                                    "WHERE process_id = ? AND capture_id = ? AND graph_id IS NOT NULL "
                                    "AND type = 'kernel' ORDER BY created_ns, node_id"));
        rows.bind(1, m_process);
        rows.bind(2, capture);
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                break;
            if (facts::isCommKernel(rows.text(2)))
                nodes[rows.int64(1)].push_back(rows.int64(0));
        }
        std::map<std::int64_t, std::vector<const Made*>> byStream;
        for (const Made& call : made)
            byStream[call.stream].push_back(&call);
        for (const auto& [stream, list] : nodes) {
            const auto& there = byStream[stream];
            for (std::size_t i = 0; there.size() == list.size() && i < list.size(); ++i)
                m_nodes[list[i]] = numberOf(*there[i]);
        }
        return {};
    }

    Db& m_trace;
    std::int64_t m_process;
    CommCalls& m_calls;
    OnlyOnes m_eager, m_captured;
    std::set<std::int64_t> m_linked; // captures
    std::map<std::int64_t, std::uint32_t> m_execNodes, m_nodes; // -> call; m_nodes: of templates
};

} // namespace

Result<void> linkCommunication(Db& trace, std::span<CommKernel> kernels, CommCalls& calls,
    std::int64_t hostFromNs, std::int64_t hostToNs) {
    if (kernels.empty())
        return {};
    return Linker(trace, kernels.front().process, calls).run(kernels, hostFromNs, hostToNs);
}

} // namespace gd::report
