// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/comm/calls.h"

#include "analyzer/base/statement.h"
#include "analyzer/report/comm/communicators.h"
#include "analyzer/report/comm/kernels.h"
#include "analyzer/report/comm/order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace gd::report {
namespace {

// The call that is asked about.
struct Own {
    std::int64_t process = 0;
    std::int64_t comm = 0;
    std::int64_t peer = -1;
    std::string kind;
    bool isCaptured = false;
};

Result<std::optional<Own>> ownCall(Db& trace, std::int64_t rowId) {
    GD_TRY_ASSIGN(auto row,
        trace.prepareReadOnly(
            "SELECT process_id, comm_hash, coalesce(peer, -1), kind, capture_id IS NOT NULL "
            "FROM nccl_op WHERE rowid = ?"));
    row.bind(1, rowId);
    GD_TRY_ASSIGN(const bool found, row.step());
    if (!found)
        return std::optional<Own>();
    return std::optional(
        Own{row.int64(0), row.int64(1), row.int64(2), std::string(row.text(3)), row.int64(4) != 0});
}

using Calls = std::map<std::int64_t, std::vector<SameCall::Call>>; // by rank, in their order

class Finder {
public:
    Finder(Db& trace, Own own, const Communicator& communicator)
        : m_trace(trace)
        , m_own(std::move(own))
        , m_communicator(communicator) { }

    Result<SameCall> find(std::int64_t rowId) {
        for (const auto& [process, member] : m_communicator.members) {
            if (takesPart(member.rank))
                m_calls[member.rank] = {};
        }
        GD_TRY(read());
        const auto& mine = m_calls[ownRank()];
        const auto at = std::find_if(
            mine.begin(), mine.end(), [rowId](const SameCall::Call& call) { return call.rowId == rowId; });
        const auto number = static_cast<std::size_t>(at - mine.begin());
        SameCall out;
        out.isUnclear = !isMessage(m_own.kind) && number >= alike();
        for (const auto& [rank, calls] : m_calls) {
            if (out.isUnclear || rank == ownRank())
                continue;
            if (number < calls.size())
                out.calls.push_back(calls[number]);
            else
                out.without.push_back(rank);
        }
        return out;
    }

private:
    std::int64_t ownRank() const { return m_communicator.members.at(m_own.process).rank; }
    bool takesPart(std::int64_t rank) const {
        return !isMessage(m_own.kind) || rank == ownRank() || rank == m_own.peer;
    }
    // Whether a call is counted with the one asked about: a collective, or a side of the same messages.
    bool isCounted(std::int64_t rank, std::string_view kind, std::int64_t peer) const {
        if (!isMessage(m_own.kind))
            return !isMessage(kind);
        return rank == ownRank() ? kind == m_own.kind && peer == m_own.peer
                                 : kind == (m_own.kind == "send" ? "recv" : "send") && peer == ownRank();
    }

    Result<void> read() {
        GD_TRY_ASSIGN(auto rows,
            m_trace.prepareReadOnly(
                "SELECT rowid, process_id, time_ns, kind, coalesce(peer, -1) FROM nccl_op "
                "WHERE comm_hash = ? AND (capture_id IS NOT NULL) = ? ORDER BY time_ns, op_id"));
        rows.bind(1, m_own.comm);
        rows.bind(2, std::int64_t{m_own.isCaptured});
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            const auto member = m_communicator.members.find(rows.int64(1));
            if (member == m_communicator.members.end())
                continue;
            const std::int64_t rank = member->second.rank;
            if (takesPart(rank) && isCounted(rank, rows.text(3), rows.int64(4)))
                m_calls[rank].push_back(
                    {rows.int64(1), rows.int64(0), rows.int64(2), std::string(rows.text(3)), rank});
        }
    }
    std::size_t alike() const {
        std::vector<std::vector<std::string_view>> kinds;
        for (const auto& [rank, calls] : m_calls) {
            auto& list = kinds.emplace_back();
            for (const SameCall::Call& call : calls)
                list.emplace_back(call.kind);
        }
        return alikeByOrder(kinds);
    }

    Db& m_trace;
    Own m_own;
    const Communicator& m_communicator;
    Calls m_calls;
};

} // namespace

Result<SameCall> sameCall(Db& trace, std::int64_t rowId) {
    GD_TRY_ASSIGN(auto own, ownCall(trace, rowId));
    if (!own)
        return SameCall();
    GD_TRY_ASSIGN(const auto communicators, readCommunicators(trace));
    const auto at = communicators.find(own->comm);
    if (at == communicators.end() || !at->second.members.contains(own->process))
        return SameCall();
    return Finder(trace, std::move(*own), at->second).find(rowId);
}

} // namespace gd::report
