// SPDX-License-Identifier: Apache-2.0
#include "comm/link_model.h"

#include "collector/api/graphdoctor_runtime.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace gdt::comm {

std::string LinkCost::text() const {
    char buffer[96];
    std::snprintf(buffer, sizeof(buffer), "%.1f us + bytes / %g GB/s", alphaUs, gigabytesPerSecond);
    return buffer;
}

bool NetworkModel::spansNodes(const std::vector<int>& jobRanks) const {
    return std::any_of(jobRanks.begin(), jobRanks.end(),
        [&](int rank) { return rank / ranksPerNode != jobRanks.front() / ranksPerNode; });
}

const LinkCost& NetworkModel::linkOf(const std::vector<int>& jobRanks) const {
    return spansNodes(jobRanks) ? betweenNodes : withinNode;
}

std::int64_t modelledNs(std::uint32_t kind, std::uint64_t messageBytes, int ranks, const LinkCost& link) {
    const double others = ranks - 1;
    double sent = static_cast<double>(messageBytes);
    switch (kind) {
    case GD_RT_COMM_ALL_REDUCE:
        sent *= 2 * others / ranks;
        break;
    case GD_RT_COMM_REDUCE_SCATTER:
    case GD_RT_COMM_ALL_GATHER:
        sent *= others; // the message is one of `ranks` parts
        break;
    default:
        break;
    }
    return std::llround(link.alphaUs * 1e3 + sent / link.gigabytesPerSecond);
}

} // namespace gdt::comm
