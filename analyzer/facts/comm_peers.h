// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace gd::facts {

// Eager communication calls beside their counterparts in the other processes of the trace. All ranks of a
// communicator make the same collective calls in the same order, and a rank's k-th send to another is that
// one's k-th receive from it; so calls are matched by their number since the communicator's creation.
class CommPeers {
public:
    explicit CommPeers(const RawData& raw);

    struct Arrival {
        std::int64_t rank = 0;
        std::int64_t enqueuedNs = 0;
    };
    // The other rank that enqueued its part of this call last; nullopt when not every rank that takes part is
    // in the trace from the communicator's creation on.
    std::optional<Arrival> lastOther(const ProcessData& process, const CommOp& op) const;

private:
    // kind of a send or receive and the peer; collectives share one sequence (peer -1).
    using Lane = std::pair<char, std::int64_t>;
    struct Member {
        const ProcessData* process = nullptr;
        std::int64_t rank = 0;
        std::map<Lane, std::vector<const CommOp*>> calls; // by time
    };
    struct Communicator {
        std::int64_t nranks = 0;
        bool isUsable = true; // false: one of its processes does not tell which rank made a call
        std::vector<Member> members;
    };

    static Lane laneOf(const CommOp& op);
    static const CommOp* counterpart(const Member& member, const Lane& lane, std::size_t number);

    std::map<std::int64_t, Communicator> m_comms; // by hash
};

} // namespace gd::facts
