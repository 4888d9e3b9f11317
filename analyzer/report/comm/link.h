// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/report/comm/kernels.h"

#include <span>

namespace gd::report {

// Finds the calls behind communication kernels of one process, sorted by start, and writes their numbers into
// them. A node of a graph is of the call that it was captured from; outside graphs the n-th kernel of a
// stream is the n-th call made on it in [hostFromNs, hostToNs), where there are as many of both. Of other
// kernels at most the communicator is known: the only one that was ever used on their stream, in captures or
// outside.
Result<void> linkCommunication(Db& trace, std::span<CommKernel> kernels, CommCalls& calls,
    std::int64_t hostFromNs, std::int64_t hostToNs);

} // namespace gd::report
