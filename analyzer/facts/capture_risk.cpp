// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/capture_risk.h"

#include <algorithm>
#include <cmath>
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

// Works only while another thread waits for it, which captures before or after, or drives it inside the
// capture: PyTorch's backward passes.
bool isDriven(const std::string& thread) {
    return thread.starts_with("pt_autograd_");
}

// All of these calls lie inside calls of the thread that captures, and it is not in calls so much of the time
// that this says nothing: it waits for the other one.
bool liesInsideCallsOf(const ProcessData& process, std::int32_t threadId, const ForeignCalls& foreign) {
    const std::int64_t firstNs = foreign.calls.front()->startNs;
    const std::int64_t lastNs = foreign.calls.back()->startNs;
    std::vector<std::pair<std::int64_t, std::int64_t>> spans; // of outer calls, by start
    std::int64_t insideNs = 0;
    process.eachCall(threadId, firstNs, lastNs, [&](const ApiCall& call) {
        if (!spans.empty() && call.startNs < spans.back().second)
            return;
        spans.emplace_back(call.startNs, call.endNs);
        insideNs += std::max<std::int64_t>(0, std::min(call.endNs, lastNs) - std::max(call.startNs, firstNs));
    });
    std::size_t span = 0;
    for (const ApiCall* call : foreign.calls) {
        while (span < spans.size() && spans[span].second < call->endNs)
            ++span;
        if (span == spans.size() || spans[span].first > call->startNs)
            return false;
    }
    constexpr double kChance = 0.01;
    const double share = static_cast<double>(insideNs) / static_cast<double>(lastNs - firstNs);
    return std::pow(share, static_cast<double>(foreign.calls.size())) < kChance;
}

// In how many tenths of [fromNs, untilNs] such calls begin.
std::int64_t tenthsWith(const ForeignCalls& foreign, std::int64_t fromNs, std::int64_t untilNs) {
    std::set<std::int64_t> tenths;
    const std::int64_t lengthNs = std::max<std::int64_t>(1, untilNs - fromNs);
    for (const ApiCall* call : foreign.calls)
        tenths.insert(std::min<std::int64_t>(9, (call->startNs - fromNs) * 10 / lengthNs));
    return static_cast<std::int64_t>(tenths.size());
}

std::int64_t lastCallNs(const ProcessData& process, std::int32_t threadId, std::int64_t atLeastNs) {
    const auto calls = process.callsOfThread.find(threadId);
    return calls == process.callsOfThread.end() || calls->second.first == calls->second.second
        ? atLeastNs
        : std::max(atLeastNs, process.calls[static_cast<std::size_t>(calls->second.second - 1)].startNs);
}

// What captures and other threads are to each other.
class RiskJudge {
public:
    RiskJudge(FactContext& context, const ProcessData& process, Statement& insert)
        : m_context(context)
        , m_process(process)
        , m_insert(insert) { }

    Result<void> judge(std::int32_t threadId, const ForeignCalls& foreign) {
        const std::int64_t firstNs = foreign.calls.front()->startNs;
        const std::int64_t lastNs = foreign.calls.back()->startNs;
        const ApiCall& first = *foreign.calls.front();
        const Capture* example = nullptr;
        std::int64_t captures = 0;
        std::int64_t openNs = 0;
        for (const Capture& capture : m_process.captures) {
            const bool judged = capture.mode == "global" && capture.endResult == 0 && capture.endNs
                && capture.beginThreadId != threadId && capture.startNs >= firstNs
                && capture.startNs <= lastNs;
            if (!judged || (first.deviceId >= 0 && first.deviceId != capture.deviceId))
                continue;
            example = example == nullptr ? &capture : example;
            ++captures;
            openNs += *capture.endNs - capture.startNs;
        }
        if (example == nullptr || lastNs <= firstNs || isDriven(m_process.threadName(threadId))
            || liesInsideCallsOf(m_process, example->beginThreadId, foreign))
            return {};
        const auto count = static_cast<std::int64_t>(foreign.calls.size());
        const double rate = static_cast<double>(count - 1) * 1e9 / static_cast<double>(lastNs - firstNs);
        const std::int64_t meanNs = openNs / captures;
        const ApiCall* call = typical(foreign.calls);
        const RawData& raw = m_context.raw;
        return m_insert.runWith(m_process.processId, example->captureId, threadId,
            orNull(m_process.threadName(threadId)), raw.apiName(call->apiId),
            orNull(raw.apis.at(call->apiId).runtimeName), count, rate,
            tenthsWith(foreign, firstNs, lastCallNs(m_process, threadId, lastNs)), captures, meanNs,
            rate * static_cast<double>(meanNs) / 1e9, firstNs, lastNs, orNull(call->stackId),
            orNull(std::int64_t{example->beginThreadId}), m_process.complete("callbacks", firstNs, lastNs));
    }

private:
    FactContext& m_context;
    const ProcessData& m_process;
    Statement& m_insert;
};

} // namespace

Result<void> buildCaptureRisk(FactContext& context) {
    GD_TRY_ASSIGN(const ThreadModes modes, ThreadModes::read(context.db));
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO capture_risk VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        RiskJudge judge(context, process, insert);
        for (const auto& [threadId, foreign] : unsafeByThread(context.raw, process, modes))
            GD_TRY(judge.judge(threadId, foreign));
    }
    return {};
}

} // namespace gd::facts
