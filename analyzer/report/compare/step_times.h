// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gd::report {

// One steady step of one process, in ns.
struct StepTime {
    std::int64_t processId = 0;
    std::int64_t durationNs = 0;
};

// How long the steady steps of a trace take, by two clocks. A host that runs ahead of its device has short
// steps until the device's queue is full and long ones from then on, so that the median of its ranges depends
// on how long the run was; the device keeps its pace.
struct StepTimes {
    std::vector<StepTime> host; // length of the step as the host saw it
    // From the end of the work of the step before to the end of its own, on the last of the process's devices
    // to finish. Only where both ends are known: all that was recorded of such steps ends at equal points.
    std::vector<StepTime> device;
    std::string whyNotDevice; // why `device` does not stand for the trace, a sentence; empty: it does
};

// A trace without steady steps has neither, and no reason. Reads one row a step and device.
Result<StepTimes> readStepTimes(Db& trace);

} // namespace gd::report
