// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/comm/communicators.h"

#include "analyzer/base/statement.h"

#include <algorithm>
#include <utility>

namespace gd::report {

bool Communicator::isOnOneHost() const {
    return std::all_of(members.begin(), members.end(),
        [this](const auto& member) { return member.second.host == members.begin()->second.host; });
}

Result<Communicators> readCommunicators(Db& db) {
    Communicators out;
    std::set<std::pair<std::int64_t, std::int64_t>> ranks; // of a communicator
    std::set<std::int64_t> twice;
    const auto read = [&](const char* sql) -> Result<void> {
        GD_TRY_ASSIGN(auto rows, db.prepare(sql));
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return {};
            const std::int64_t hash = rows.int64(0);
            Communicator& comm = out[hash];
            comm.nranks = std::max(comm.nranks, rows.int64(3));
            const bool isNew
                = comm.members.try_emplace(rows.int64(1), rows.int64(2), std::string(rows.text(4))).second;
            if (!isNew || !ranks.emplace(hash, rows.int64(2)).second)
                twice.insert(hash);
        }
    };
    GD_TRY(read("SELECT DISTINCT c.comm_hash, c.process_id, c.rank, c.nranks, p.host FROM nccl_comm AS c "
                "LEFT JOIN process AS p USING (process_id) WHERE c.comm_hash != 0"));
    if (out.empty())
        GD_TRY(read("SELECT 0, process_id, rank, world_size, host FROM process WHERE rank IS NOT NULL "
                    "AND world_size IS NOT NULL AND parent_process_id IS NULL"));
    for (const std::int64_t hash : twice)
        out.erase(hash);
    return out;
}

Communicators among(const Communicators& all, const std::set<std::int64_t>& processes) {
    Communicators out = all;
    for (auto& [hash, comm] : out)
        std::erase_if(comm.members, [&](const auto& member) { return !processes.contains(member.first); });
    return out;
}

} // namespace gd::report
