// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace gd::report {

// A communication kernel as the device ran it. Times are ns of the trace clock.
struct CommKernel {
    std::int64_t process = 0;
    std::int64_t rowId = 0; // of table kernel
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int64_t name = 0; // equal for kernels of one name, in all processes
    std::int64_t comm = 0; // hash of the communicator, 0: not known
    bool isCollective = true; // false: a send or a receive, which no other rank runs under the same name
};

// Communicators of two and more ranks that are complete in the trace and of one host, by hash: their
// processes, sorted. Where communicators were not recorded, the whole job under hash 0, if all of its ranks
// are there.
using Communicators = std::map<std::int64_t, std::vector<std::int64_t>>;
Result<Communicators> completeCommunicators(Db& db);

// Tells the communicator of a kernel: that of the call it was captured from, else the only one that was ever
// used on its stream.
class CommIdentity {
public:
    static Result<CommIdentity> open(Db& db);
    // `node` is an executable's node or -1; `stream` counts for kernels outside graphs. 0: not known.
    Result<std::int64_t> of(std::int64_t process, std::int64_t stream, std::int64_t node);

private:
    explicit CommIdentity(Statement node)
        : m_nodeQuery(std::move(node)) { }

    using Key = std::pair<std::int64_t, std::int64_t>; // process and stream or node
    Statement m_nodeQuery;
    std::map<Key, std::int64_t> m_eager, m_captured, m_nodes;
};

// Which kernels of several ranks are one collective. A collective's kernels are on all of its ranks at once
// at some moment, so those are matched that have the same name, overlap each other and hardly anything else,
// and are all of one communicator: their own where it is known, else the only one that fits. Whatever could
// be two is left unmatched: a guess would blame a rank.
class CommMatches {
public:
    CommMatches(std::vector<CommKernel> kernels, const Communicators& communicators);

    // In order of process and start.
    const std::vector<CommKernel>& kernels() const { return m_kernels; }
    // All kernels of the collective, this one too; empty: not matched.
    std::vector<std::size_t> collective(std::size_t kernel) const;
    // Until when this kernel waits for the last rank to arrive: its start or later, at most its end; -1: not
    // matched, so that nobody knows.
    std::int64_t waitsUntilNs(std::size_t kernel) const;
    // Index of a kernel by its row; size of kernels(): there is none.
    std::size_t find(std::int64_t process, std::int64_t rowId) const;

private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    // Kernels of one name in one process, by start.
    using Lists = std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::uint32_t>>;

    std::vector<std::uint32_t> candidate(
        std::uint32_t kernel, const Communicators::value_type& comm, const Lists& lists) const;

    std::vector<CommKernel> m_kernels;
    std::vector<std::uint32_t> m_group; // per kernel: number in m_groups, kNone
    std::vector<std::vector<std::uint32_t>> m_groups;
    std::vector<std::pair<std::pair<std::int64_t, std::int64_t>, std::uint32_t>> m_rows; // (process, row)
};

} // namespace gd::report
