// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/call_index.h"

#include <algorithm>
#include <limits>

namespace gd::facts {
namespace {

bool enqueues(const ApiCall& call) {
    return call.correlation != 0
        && (call.apiClass == ApiClass::launch || call.apiClass == ApiClass::copy
            || call.apiClass == ApiClass::copySync);
}

} // namespace

CallByCorrelation::CallByCorrelation(const ProcessData& process)
    : m_process(process) {
    constexpr std::int64_t kSlotsACall = 16; // the table may be this much larger than what it holds
    std::int64_t first = std::numeric_limits<std::int64_t>::max();
    std::int64_t last = 0;
    std::int64_t count = 0;
    for (const ApiCall& call : process.calls) {
        if (!enqueues(call))
            continue;
        first = std::min(first, call.correlation);
        last = std::max(last, call.correlation);
        ++count;
    }
    if (count == 0)
        return;
    const bool dense = first >= 0 && last - first < count * kSlotsACall;
    if (dense) {
        m_first = first;
        m_dense.resize(static_cast<std::size_t>(last - first + 1));
    }
    for (std::size_t i = 0; i < process.calls.size(); ++i) {
        const ApiCall& call = process.calls[i];
        if (!enqueues(call))
            continue;
        if (dense)
            m_dense[static_cast<std::size_t>(call.correlation - m_first)] = static_cast<std::int32_t>(i + 1);
        else
            m_sparse[call.correlation] = static_cast<std::int32_t>(i + 1);
    }
}

const ApiCall* CallByCorrelation::find(std::int64_t correlation) const {
    std::int32_t index = 0;
    if (correlation >= m_first && correlation - m_first < static_cast<std::int64_t>(m_dense.size())) {
        index = m_dense[static_cast<std::size_t>(correlation - m_first)];
    } else if (!m_sparse.empty()) {
        const auto found = m_sparse.find(correlation);
        index = found == m_sparse.end() ? 0 : found->second;
    }
    return index == 0 || correlation == 0 ? nullptr : &m_process.calls[static_cast<std::size_t>(index - 1)];
}

std::int32_t CallByCorrelation::stepOf(const DeviceOp& op) const {
    const ApiCall* call = find(op.correlation);
    return m_process.stepAt(call == nullptr ? op.startNs : call->startNs);
}

} // namespace gd::facts
