// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/comm_matches.h"

#include <algorithm>
#include <set>
#include <string>

namespace gd::report {
namespace {

// Ranks leave a collective at slightly different times, so one may touch the next: what overlaps this many
// times longer than anything else is meant.
constexpr std::int64_t kClear = 4;

} // namespace

Result<Communicators> completeCommunicators(Db& db) {
    struct Seen {
        std::int64_t nranks = 0;
        std::set<std::int64_t> ranks;
        std::vector<std::int64_t> members;
        std::set<std::string> hosts; // of several, the clocks are not related
        bool twice = false;
    };
    std::map<std::int64_t, Seen> all;
    const auto read = [&](const char* sql) -> Result<void> {
        GD_TRY_ASSIGN(auto rows, db.prepare(sql));
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            Seen& comm = all[rows.int64(0)];
            comm.nranks = std::max(comm.nranks, rows.int64(3));
            comm.twice = comm.twice || !comm.ranks.insert(rows.int64(2)).second;
            comm.members.push_back(rows.int64(1));
            comm.hosts.emplace(rows.text(4));
        }
    };
    GD_TRY(read("SELECT DISTINCT c.comm_hash, c.process_id, c.rank, c.nranks, p.host FROM nccl_comm AS c "
                "LEFT JOIN process AS p USING (process_id) WHERE c.comm_hash != 0"));
    if (all.empty())
        GD_TRY(read("SELECT 0, process_id, rank, world_size, host FROM process WHERE rank IS NOT NULL "
                    "AND world_size IS NOT NULL AND parent_process_id IS NULL"));
    Communicators out;
    for (auto& [hash, comm] : all) {
        std::sort(comm.members.begin(), comm.members.end());
        if (!comm.twice && comm.hosts.size() == 1 && comm.nranks > 1
            && static_cast<std::int64_t>(comm.members.size()) == comm.nranks)
            out[hash] = std::move(comm.members);
    }
    return out;
}

Result<CommIdentity> CommIdentity::open(Db& db) {
    GD_TRY_ASSIGN(auto node,
        db.prepare("SELECT o.comm_hash, t.stream_id FROM graph_node AS n "
                   "JOIN graph_node AS t ON t.process_id = n.process_id AND t.node_id = n.origin_node_id "
                   "LEFT JOIN nccl_op AS o ON o.process_id = t.process_id AND o.op_id = t.comm_op_id "
                   "WHERE n.process_id = ? AND n.node_id = ?"));
    CommIdentity out(std::move(node));
    GD_TRY_ASSIGN(auto rows,
        db.prepare("SELECT process_id, stream_id, capture_id IS NOT NULL, min(comm_hash) FROM nccl_op "
                   "WHERE stream_id IS NOT NULL GROUP BY 1, 2, 3 HAVING min(comm_hash) = max(comm_hash)"));
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return out;
        (rows.int64(2) != 0 ? out.m_captured : out.m_eager)[{rows.int64(0), rows.int64(1)}] = rows.int64(3);
    }
}

Result<std::int64_t> CommIdentity::of(std::int64_t process, std::int64_t stream, std::int64_t node) {
    const auto in = [](const std::map<Key, std::int64_t>& map, const Key& key) {
        const auto at = map.find(key);
        return at == map.end() ? std::int64_t{0} : at->second;
    };
    if (node < 0)
        return in(m_eager, {process, stream});
    const auto [known, isNew] = m_nodes.try_emplace({process, node}, 0);
    if (!isNew)
        return known->second;
    m_nodeQuery.reset();
    m_nodeQuery.bind(1, process);
    m_nodeQuery.bind(2, node);
    GD_TRY_ASSIGN(const bool found, m_nodeQuery.step());
    if (found && !m_nodeQuery.isNull(0))
        known->second = m_nodeQuery.int64(0);
    else if (found && !m_nodeQuery.isNull(1))
        known->second = in(m_captured, {process, m_nodeQuery.int64(1)});
    return known->second;
}

CommMatches::CommMatches(std::vector<CommKernel> kernels, const Communicators& communicators)
    : m_kernels(std::move(kernels)) {
    std::sort(m_kernels.begin(), m_kernels.end(), [](const CommKernel& a, const CommKernel& b) {
        return a.process != b.process ? a.process < b.process : a.startNs < b.startNs;
    });
    m_group.assign(m_kernels.size(), kNone);
    Lists lists;
    for (std::uint32_t i = 0; i < m_kernels.size(); ++i) {
        const CommKernel& kernel = m_kernels[i];
        if (kernel.isCollective)
            lists[{kernel.process, kernel.name}].push_back(i);
        m_rows.push_back({{kernel.process, kernel.rowId}, i});
    }
    std::sort(m_rows.begin(), m_rows.end());
    // What each kernel would belong to, seen from it; a collective is what all its kernels agree on.
    std::vector<std::vector<std::uint32_t>> seen(m_kernels.size());
    for (std::uint32_t i = 0; i < m_kernels.size(); ++i) {
        bool two = false;
        for (const auto& comm : communicators) {
            auto found = candidate(i, comm, lists);
            if (found.empty())
                continue;
            // Two communicators of the same ranks make no difference.
            two = two || (!seen[i].empty() && seen[i] != found);
            seen[i] = std::move(found);
        }
        if (two)
            seen[i].clear();
    }
    for (std::uint32_t i = 0; i < m_kernels.size(); ++i) {
        if (m_group[i] != kNone || seen[i].empty())
            continue;
        const auto& group = seen[i];
        const bool agreed = std::all_of(
            group.begin(), group.end(), [&](std::uint32_t other) { return seen[other] == group; });
        if (!agreed)
            continue;
        for (const std::uint32_t other : group)
            m_group[other] = static_cast<std::uint32_t>(m_groups.size());
        m_groups.push_back(group);
    }
}

// The kernel of each member that overlaps this one, sorted; empty: a member has none or it is not clear
// which, or they are not all there at one moment.
std::vector<std::uint32_t> CommMatches::candidate(
    std::uint32_t kernel, const Communicators::value_type& comm, const Lists& lists) const {
    const CommKernel& own = m_kernels[kernel];
    const std::vector<std::int64_t>& members = comm.second;
    const auto fits = [&](const CommKernel& other) { return other.comm == 0 || other.comm == comm.first; };
    std::vector<std::uint32_t> out;
    if (!own.isCollective || !fits(own) || !std::binary_search(members.begin(), members.end(), own.process))
        return out;
    std::int64_t lastStart = own.startNs;
    std::int64_t firstEnd = own.endNs;
    for (const std::int64_t process : members) {
        if (process == own.process) {
            out.push_back(kernel);
            continue;
        }
        const auto list = lists.find({process, own.name});
        if (list == lists.end())
            return {};
        // Kernels of one name of a process hardly ever overlap, so ends rise as starts do.
        auto at = std::partition_point(list->second.begin(), list->second.end(),
            [&](std::uint32_t other) { return m_kernels[other].endNs <= own.startNs; });
        std::uint32_t match = kNone;
        std::int64_t most = 0;
        std::int64_t next = 0;
        for (; at != list->second.end() && m_kernels[*at].startNs < own.endNs; ++at) {
            if (!fits(m_kernels[*at]))
                continue;
            const std::int64_t overlap
                = std::min(m_kernels[*at].endNs, own.endNs) - std::max(m_kernels[*at].startNs, own.startNs);
            next = std::max(next, std::min(overlap, most));
            if (overlap > most) {
                most = overlap;
                match = *at;
            }
        }
        if (match == kNone || next * kClear > most)
            return {};
        lastStart = std::max(lastStart, m_kernels[match].startNs);
        firstEnd = std::min(firstEnd, m_kernels[match].endNs);
        out.push_back(match);
    }
    if (lastStart >= firstEnd)
        return {};
    std::sort(out.begin(), out.end());
    return out;
}

std::vector<std::size_t> CommMatches::collective(std::size_t kernel) const {
    if (kernel >= m_group.size() || m_group[kernel] == kNone)
        return {};
    const auto& group = m_groups[m_group[kernel]];
    return {group.begin(), group.end()};
}

std::int64_t CommMatches::waitsUntilNs(std::size_t kernel) const {
    if (kernel >= m_group.size() || m_group[kernel] == kNone)
        return -1;
    std::int64_t last = m_kernels[kernel].startNs;
    for (const std::uint32_t other : m_groups[m_group[kernel]])
        last = std::max(last, m_kernels[other].startNs);
    return std::min(last, m_kernels[kernel].endNs);
}

std::size_t CommMatches::find(std::int64_t process, std::int64_t rowId) const {
    const auto key = std::make_pair(std::make_pair(process, rowId), std::uint32_t{0});
    const auto at = std::lower_bound(m_rows.begin(), m_rows.end(), key);
    return at != m_rows.end() && at->first == key.first ? at->second : m_kernels.size();
}

} // namespace gd::report
