// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/report/ranks/step_comparison.h"

namespace gd::report {

// Says for the communication kernels of a lane which call made them. Nodes of graphs: by the call that the
// node names, else the n-th communication node of a stream of a capture is the n-th call (or group of calls)
// on it. Outside graphs: the n-th kernel of a stream in the step is the n-th call on it. By order only where
// there are equally many; what stays open keeps an empty kind. [hostFromNs, hostToNs): the step on the host.
Result<void> linkCommunication(Db& trace, RankLane& lane, std::int64_t hostFromNs, std::int64_t hostToNs);

} // namespace gd::report
