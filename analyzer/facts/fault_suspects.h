// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gd::facts {

// Which nodes of an executable to look at first after an error of the device, and why just these.
struct FaultSuspects {
    // The first that holds for any node:
    enum class How : std::uint8_t {
        stale, // it points to memory that was freed (stale_pointer)
        running, // what it waits for has device times of this replay, it has none
        descriptor, // it takes 64 or 128 bytes by value, as descriptors of tensor maps are
        index, // its name says that data decide where it reads or writes
        any // nothing tells the kernels apart
    };
    How how = How::any;
    std::vector<std::string> names; // kernels, or the type of another node; each once, in the graph's order
    std::int64_t nodes = 0; // that `how` holds for
    std::int64_t kernels = 0; // of the executable
    std::int64_t stackId
        = 0; // where the only suspect was captured; 0 = there are several, or it is not known
};

std::string_view name(FaultSuspects::How how);

// `replay`: the first launch of it that was in flight; `result`: the error that calls return.
Result<FaultSuspects> faultSuspects(FactContext& context, const ProcessData& process, const Exec& exec,
    const Replay& replay, std::int32_t result);

} // namespace gd::facts
