// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace gd::facts {

// Finds the call that enqueued a piece of device work. Correlations of one process grow with time, so a plain
// table does; where they are too far apart (other sources of traces) a hash table takes its place.
class CallByCorrelation {
public:
    // Calls of the classes that enqueue kernels, copies and fills.
    explicit CallByCorrelation(const ProcessData& process);
    // nullptr for 0 and for work whose call was not recorded.
    const ApiCall* find(std::int64_t correlation) const;
    // Step in which the work was enqueued, else the one in which it started; -1 = none.
    std::int32_t stepOf(const DeviceOp& op) const;

private:
    const ProcessData& m_process;
    std::int64_t m_first = 0;
    std::vector<std::int32_t> m_dense; // call index + 1, by correlation - m_first
    std::unordered_map<std::int64_t, std::int32_t> m_sparse;
};

} // namespace gd::facts
