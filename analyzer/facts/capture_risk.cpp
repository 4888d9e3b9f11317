// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/capture_risk.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace gd::facts {
namespace {

// Calls that the driver refuses on every thread while a capture in global mode is open (CUDA driver API,
// cuThreadExchangeStreamCaptureMode: "potentially unsafe"), as far as they are recorded.
const std::set<std::string_view>& unsafeCalls() {
    static const std::set<std::string_view> kNames{"cuMemAlloc", "cuMemAllocManaged", "cuMemFree",
        "cuMemHostAlloc", "cuMemAllocHost", "cuMemFreeHost", "cuMemHostRegister", "cuMemHostUnregister",
        "cuEventQuery", "cuEventSynchronize", "cuStreamQuery", "cuCtxSynchronize", "cuMemPoolGetAttribute",
        "cuMemPoolSetAttribute", "cuModuleLoad", "cuModuleLoadData", "cuModuleUnload", "cuLibraryLoadData",
        "cuLibraryUnload", "cuGraphExecDestroy"};
    return kNames;
}

// A thread that exchanged its mode may make them.
class ThreadModes {
public:
    static Result<ThreadModes> read(Db& db) {
        GD_TRY_ASSIGN(Statement rows,
            db.prepare("SELECT process_id, thread_id, time_ns, mode <> 'global' FROM thread_capture_mode "
                       "ORDER BY process_id, thread_id, time_ns"));
        ThreadModes modes;
        while (true) {
            GD_TRY_ASSIGN(const bool more, rows.step());
            if (!more)
                return modes;
            modes.m_exempt[{rows.int64(0), rows.int64(1)}].emplace_back(rows.int64(2), rows.int64(3) != 0);
        }
    }
    bool exemptAt(std::int64_t process, std::int64_t thread, std::int64_t timeNs) const {
        const auto found = m_exempt.find({process, thread});
        if (found == m_exempt.end())
            return false;
        const auto after = std::upper_bound(found->second.begin(), found->second.end(), timeNs,
            [](std::int64_t time, const auto& change) { return time < change.first; });
        return after != found->second.begin() && std::prev(after)->second;
    }

private:
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::pair<std::int64_t, bool>>> m_exempt;
};

struct ForeignCalls {
    std::vector<const ApiCall*> calls; // by start
};

std::map<std::int32_t, ForeignCalls> unsafeByThread(
    const RawData& raw, const ProcessData& process, const ThreadModes& modes) {
    std::map<std::int32_t, ForeignCalls> threads;
    std::set<std::int16_t> ids;
    for (const auto& [id, api] : raw.apis) {
        if (unsafeCalls().contains(api.name))
            ids.insert(static_cast<std::int16_t>(id));
    }
    for (const ApiCall& call : process.calls) { // by thread, then start
        if (ids.contains(call.apiId) && !modes.exemptAt(process.processId, call.threadId, call.startNs))
            threads[call.threadId].calls.push_back(&call);
    }
    return threads;
}

// The call that a thread makes most, with a stack where one was taken.
const ApiCall* typical(const std::vector<const ApiCall*>& calls) {
    std::map<std::int16_t, std::int64_t> counts;
    for (const ApiCall* call : calls)
        ++counts[call->apiId];
    const ApiCall* best = nullptr;
    for (const ApiCall* call : calls) {
        const auto rank
            = [&](const ApiCall* one) { return std::pair(counts[one->apiId], one->stackId != 0); };
        if (best == nullptr || rank(call) > rank(best))
            best = call;
    }
    return best;
}

} // namespace

Result<void> buildCaptureRisk(FactContext& context) {
    GD_TRY_ASSIGN(const ThreadModes modes, ThreadModes::read(context.db));
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO capture_risk VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        const auto threads = unsafeByThread(context.raw, process, modes);
        for (const auto& [threadId, foreign] : threads) {
            const std::int64_t firstNs = foreign.calls.front()->startNs;
            const std::int64_t lastNs = foreign.calls.back()->startNs;
            const Capture* example = nullptr;
            std::int64_t captures = 0;
            std::int64_t openNs = 0;
            for (const Capture& capture : process.captures) {
                const bool judged = capture.mode == "global" && capture.endResult == 0 && capture.endNs
                    && capture.beginThreadId != threadId && capture.startNs >= firstNs
                    && capture.startNs <= lastNs;
                const ApiCall& call = *foreign.calls.front();
                if (!judged || (call.deviceId >= 0 && call.deviceId != capture.deviceId))
                    continue;
                example = example == nullptr ? &capture : example;
                ++captures;
                openNs += *capture.endNs - capture.startNs;
            }
            if (example == nullptr || lastNs <= firstNs)
                continue;
            const auto count = static_cast<std::int64_t>(foreign.calls.size());
            const double rate = static_cast<double>(count - 1) * 1e9 / static_cast<double>(lastNs - firstNs);
            const std::int64_t meanNs = openNs / captures;
            const ApiCall* call = typical(foreign.calls);
            GD_TRY(insert.runWith(process.processId, example->captureId, threadId,
                orNull(process.threadName(threadId)), context.raw.apiName(call->apiId),
                orNull(context.raw.apis[call->apiId].runtimeName), count, rate, captures, meanNs,
                rate * static_cast<double>(meanNs) / 1e9, firstNs, lastNs, orNull(call->stackId),
                orNull(std::int64_t{example->beginThreadId}),
                process.complete("callbacks", firstNs, lastNs)));
        }
    }
    return {};
}

} // namespace gd::facts
