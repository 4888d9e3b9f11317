// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace gd::report {

// The ranks of a communicator that are in the trace.
struct Communicator {
    struct Member {
        std::int64_t rank = 0; // in the communicator
        std::string host; // clocks of two hosts are not related
    };
    std::int64_t nranks = 0; // 0: never told
    std::map<std::int64_t, Member> members; // by process

    bool isComplete() const { return nranks > 1 && static_cast<std::int64_t>(members.size()) == nranks; }
    bool isOnOneHost() const;
};

// Communicators by hash, without those in which two processes claim one rank. Where none was recorded, the
// whole job stands under hash 0 when its processes know their ranks.
using Communicators = std::map<std::int64_t, Communicator>;
Result<Communicators> readCommunicators(Db& db);

// The same as these processes see them: others are as good as not in the trace.
Communicators among(const Communicators& all, const std::set<std::int64_t>& processes);

} // namespace gd::report
