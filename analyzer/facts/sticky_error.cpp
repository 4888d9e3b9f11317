// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/sticky_error.h"

#include <algorithm>

namespace gd::facts {
namespace {

constexpr std::int32_t kUnknown = 999;
constexpr std::int32_t kLaunchFailed = 719;

// A call, or a replay that was launched, shows that the device works.
bool worksAfter(const ProcessData& process, const ApiCall& failed) {
    const bool called = std::any_of(process.calls.begin(), process.calls.end(), [&](const ApiCall& call) {
        const bool waits = call.apiClass == ApiClass::sync || call.apiClass == ApiClass::copySync;
        return waits && call.returned && call.result == 0 && call.startNs > failed.endNs
            && call.deviceId == failed.deviceId;
    });
    return called || std::any_of(process.replays.begin(), process.replays.end(), [&](const Replay& replay) {
        return replay.result == 0 && replay.launchStartNs > failed.endNs
            && replay.deviceId == failed.deviceId;
    });
}

} // namespace

bool isStickyError(std::int32_t result) {
    switch (result) {
    case 700: // illegal address
    case 702: // launch timeout
    case kDeviceAssert:
    case 714: // hardware stack error
    case 715: // illegal instruction
    case 716: // misaligned address
    case 717: // invalid address space
    case 718: // invalid program counter
    case kLaunchFailed:
    case 721: // tensor memory leak
    case kUnknown:
        return true;
    default:
        return false;
    }
}

StickyError firstStickyError(const ProcessData& process) {
    std::vector<const ApiCall*> failed;
    for (const ApiCall& call : process.calls) {
        // Host runtimes end communication that cannot go on with "launch failed": GD513 speaks of that.
        const bool ofPeers = !process.isCuda && call.result == kLaunchFailed;
        if (call.returned && isStickyError(call.result) && !ofPeers)
            failed.push_back(&call);
    }
    std::stable_sort(
        failed.begin(), failed.end(), [](const ApiCall* a, const ApiCall* b) { return a->endNs < b->endNs; });
    bool unknownStays = true;
    for (const ApiCall* call : failed) {
        if (call->result == kUnknown && !unknownStays)
            continue;
        const std::int64_t calls = std::count_if(failed.begin(), failed.end(), [&](const ApiCall* other) {
            return other->result == call->result && other->endNs >= call->endNs;
        });
        const bool recovered = worksAfter(process, *call);
        // Unknown errors need not come from work on the device; those that do stay.
        unknownStays = call->result != kUnknown || (!recovered && calls > 1);
        if (unknownStays)
            return {call, calls, recovered};
    }
    return {};
}

} // namespace gd::facts
