// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gd::report {

// The calls of other ranks that are one collective, or the other side of one message, with a call.
struct SameCall {
    struct Call {
        std::int64_t process = 0;
        std::int64_t rowId = 0; // of table nccl_op
        std::int64_t timeNs = 0; // of the trace clock
        std::string kind; // of nccl_op
        std::int64_t rank = 0; // in the communicator
    };
    std::vector<Call> calls; // by rank
    std::vector<std::int64_t> without; // ranks of the trace that made fewer calls and never this one, sorted
    // The ranks' calls up to this one are not of the same kinds: nobody knows which belong together.
    bool isUnclear = false;
};

// Of a row of nccl_op. Captured calls and those outside captures are counted apart, and so is each direction
// between two ranks. Nothing for a row or communicator that is not there, and where two processes claim one
// rank. Reads all calls of the communicator.
Result<SameCall> sameCall(Db& trace, std::int64_t rowId);

} // namespace gd::report
