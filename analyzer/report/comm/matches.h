// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/comm/communicators.h"
#include "analyzer/report/comm/kernels.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace gd::report {

// Which communication kernels of several ranks are one collective, or the two sides of a message, and until
// when each of them waits. The only place that decides this: the timeline and the comparison of ranks ask it.
// For calls, recorded without their kernels, sameCall() is that place.
//
// A communicator's calls are matched by their order where all of its ranks made the same ones and nothing
// contradicts it (nobody leaves a collective before all have come). What is left over is matched by time: a
// collective's kernels are on all of its ranks at once at some moment, so those belong together that have the
// same name, overlap each other and hardly anything else, and are all of one communicator, their own where it
// is known, else the only one that fits. Whatever could be two is left unmatched: a guess would blame a rank.
class CommMatches {
public:
    // Kernels in any order; `calls` are those that they are numbered by.
    CommMatches(std::vector<CommKernel> kernels, CommCalls calls, const Communicators& communicators);

    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    // Kernels that belong together, one of each rank that is in the trace, in order of process.
    struct Group {
        std::int64_t commHash = 0;
        std::int64_t nranks = 0; // that take part, also those that are not in the trace
        std::vector<std::uint32_t> kernels;
        std::uint32_t root = kNone; // of broadcasts and reductions, one of `kernels`
        bool isMessage = false; // the two sides of one
        bool isComplete = false; // no rank is missing
        bool isOnOneClock = false;
    };
    // Why the calls of a communicator could not be matched by their order.
    enum class Refusal { otherNumbers, otherKinds, contradiction };

    // In order of process and start.
    const std::vector<CommKernel>& kernels() const { return m_kernels; }
    const CommCall& call(std::size_t kernel) const { return m_calls[m_kernels[kernel].call]; }
    const std::vector<Group>& groups() const { return m_groups; }
    const std::map<std::int64_t, Refusal>& refusals() const { return m_refusals; } // by communicator
    // The group of a kernel; null: not matched.
    const Group* groupOf(std::size_t kernel) const;
    // Until when this kernel waits for whom it needs (all others; of a broadcast only the root, in a
    // reduction only the root waits): its start or later, at most its end. -1: nobody knows.
    std::int64_t waitsUntilNs(std::size_t kernel) const;
    // Index of a kernel by its row and start; size of kernels(): there is none.
    std::size_t find(std::int64_t process, std::int64_t rowId, std::int64_t startNs) const;

private:
    using Member = std::pair<const std::int64_t, Communicator>;
    using List = std::vector<std::uint32_t>; // of one process, by start
    using Lists = std::map<std::pair<std::int64_t, std::int64_t>, List>; // by process and name

    void matchByOrder(const Member& comm);
    void matchMessages(const Member& comm);
    void matchByTime(const Communicators& communicators);
    template <class F> List listOf(std::int64_t process, F&& wanted) const;
    bool contradicts(const Group& group) const;
    // When the last has come that a kernel of the group needs.
    std::int64_t neededNs(const Group& group, std::size_t kernel) const;
    List candidate(std::uint32_t kernel, const Member& comm, const Lists& lists) const;
    Group groupOfKernels(const Member& comm, List kernels) const;
    void keep(Group group);

    std::vector<CommKernel> m_kernels;
    CommCalls m_calls;
    std::map<std::int64_t, std::pair<std::uint32_t, std::uint32_t>> m_ofProcess; // its kernels [from, to)
    std::vector<std::uint32_t> m_group; // per kernel: number in m_groups, kNone
    std::vector<Group> m_groups;
    std::map<std::int64_t, Refusal> m_refusals;
};

} // namespace gd::report
