// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/capture_fails.h"
#include "analyzer/facts/passes.h"
#include "analyzer/facts/range_path.h"
#include "analyzer/facts/stats.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

namespace gd::facts {
namespace {

constexpr int kIllegalState = 401;
constexpr int kUnsupported = 900;
constexpr int kInvalidated = 901;
constexpr int kImplicit = 906;
constexpr int kOutOfMemory = 2;

// What happens around one capture beyond its own rows.
struct Surroundings {
    std::int64_t endNs = 0; // end of the window
    std::set<std::int64_t> streams; // members
    std::int64_t victims = 0;
    const ApiCall* firstVictim = nullptr;
    bool retriedOk = false;
    std::int64_t legacyCalls = 0;
    const ApiCall* firstLegacy = nullptr;
    bool oomBefore = false;
    std::optional<bool> leftScope;
    bool abandoned = false;
};

bool isLegacyWork(const ApiCall& call) {
    // Blocking copies and fills have no stream argument: they run on the legacy stream.
    const bool enqueues = call.apiClass == ApiClass::launch || call.apiClass == ApiClass::copy
        || call.apiClass == ApiClass::copySync;
    return enqueues && (call.streamId == 1 || (call.streamId == 0 && call.apiClass == ApiClass::copySync));
}

bool isRefused(const ApiCall& call) {
    return call.result == kIllegalState || call.result == kUnsupported || call.result == kInvalidated
        || call.result == kImplicit;
}

// The calls of a process that captures care about, by start.
class CallIndex {
public:
    explicit CallIndex(const ProcessData& process) {
        for (const ApiCall& call : process.calls) {
            if (isRefused(call) || isLegacyWork(call)
                || (call.apiClass == ApiClass::alloc && call.result == kOutOfMemory))
                m_calls.push_back(&call);
        }
        std::sort(m_calls.begin(), m_calls.end(),
            [](const ApiCall* a, const ApiCall* b) { return a->startNs < b->startNs; });
    }
    // Calls that start in [fromNs, toNs).
    std::span<const ApiCall* const> between(std::int64_t fromNs, std::int64_t toNs) const {
        const auto at = [&](std::int64_t timeNs) {
            return std::lower_bound(m_calls.begin(), m_calls.end(), timeNs,
                [](const ApiCall* call, std::int64_t time) { return call->startNs < time; });
        };
        const auto first = at(fromNs);
        return {first, std::max(first, at(toNs))};
    }

private:
    std::vector<const ApiCall*> m_calls;
};

void lookAtCalls(const ProcessData& process, const CallIndex& calls, const Capture& capture,
    const CaptureFail* first, Surroundings& around) {
    std::int64_t untilNs = process.endNs + 1;
    for (const Capture& other : process.captures) {
        if (other.streamId == capture.streamId && other.startNs > capture.startNs)
            untilNs = std::min(untilNs, other.startNs);
    }
    const std::int64_t firstFailNs = first == nullptr ? around.endNs : first->startNs;
    for (const ApiCall* call : calls.between(capture.startNs, around.endNs)) {
        if (isLegacyWork(*call) && (call->deviceId < 0 || call->deviceId == capture.deviceId)) {
            ++around.legacyCalls;
            around.firstLegacy = around.firstLegacy == nullptr ? call : around.firstLegacy;
        }
        around.oomBefore = around.oomBefore
            || (call->apiClass == ApiClass::alloc && call->result == kOutOfMemory
                && call->startNs < firstFailNs);
    }
    if (!capture.endNs)
        return;
    for (const ApiCall* call : calls.between(around.endNs, untilNs)) {
        if (!isRefused(*call)
            || (call->threadId != capture.beginThreadId && !around.streams.contains(call->streamId)))
            continue;
        ++around.victims;
        around.firstVictim = around.firstVictim == nullptr ? call : around.firstVictim;
    }
}

// Depth of the innermost call that holds a capture begun at this stack: what its begin has in common with an
// end that worked, else with everything that was captured.
Result<std::optional<std::size_t>> scopeDepth(
    FactContext& context, const ProcessData& process, const Capture& capture, const Stack& begin) {
    std::optional<std::size_t> depth;
    const auto narrow = [&](std::int64_t stackId) -> Result<void> {
        if (stackId == 0)
            return {};
        GD_TRY_ASSIGN(const Stack* stack, context.stacks.read(stackId));
        if (const auto common = commonDepth(begin, *stack))
            depth = std::min(depth.value_or(*common), *common);
        return {};
    };
    for (const Capture& other : process.captures) {
        if (other.beginStackId == capture.beginStackId && other.endResult == 0)
            GD_TRY(narrow(other.endStackId));
    }
    if (depth)
        return depth;
    for (const std::int32_t index : capture.nodes)
        GD_TRY(narrow(process.nodes[static_cast<std::size_t>(index)].stackId));
    for (const CaptureJoin& join : capture.joins)
        GD_TRY(narrow(join.stackId));
    return depth;
}

Result<void> judgeScope(FactContext& context, const ProcessData& process, const Capture& capture,
    const CaptureFail* first, Surroundings& around) {
    if (capture.endNs)
        return {};
    const bool beganAnother
        = std::any_of(process.captures.begin(), process.captures.end(), [&](const Capture& other) {
              return other.beginThreadId == capture.beginThreadId && other.startNs > capture.startNs;
          });
    const bool triedAnother = first != nullptr && first->threadId == capture.beginThreadId
        && first->known == KnownCall::beginCapture;
    if (beganAnother || triedAnother) {
        around.leftScope = true;
    } else if (first != nullptr && first->threadId == capture.beginThreadId) {
        GD_TRY_ASSIGN(const Stack* begin, context.stacks.read(capture.beginStackId));
        GD_TRY_ASSIGN(const Stack* failing, context.stacks.read(first->stackId));
        GD_TRY_ASSIGN(const auto depth, scopeDepth(context, process, capture, *begin));
        const auto common = commonDepth(*begin, *failing);
        if (depth && common)
            around.leftScope = *common < *depth;
    }
    const bool ownObject = first != nullptr && (first->memberStream || first->memberEvent);
    const bool foreign = first != nullptr && first->threadId != capture.beginThreadId;
    around.abandoned = triedAnother
        || (first == nullptr ? around.leftScope.value_or(true)
                             : !ownObject && !foreign && around.leftScope.value_or(true));
    return {};
}

// 1: the place that allocated in vain allocated successfully before the capture.
Result<std::optional<std::int64_t>> warmSameSite(
    FactContext& context, const ProcessData& process, const Capture& capture, const CaptureFail* first) {
    if (first == nullptr || first->apiClass != "ALLOC" || first->stackId == 0)
        return std::optional<std::int64_t>();
    GD_TRY_ASSIGN(const Stack* failing, context.stacks.read(first->stackId));
    const Frame* place = userFrame(*failing);
    if (place == nullptr)
        return std::optional<std::int64_t>();
    const Frame wanted = *place;
    std::optional<std::int64_t> result;
    std::set<std::int64_t> seen;
    for (const Allocation& allocation : process.allocations) {
        if (allocation.allocNs >= capture.startNs || allocation.stackId == 0
            || !seen.insert(allocation.stackId).second)
            continue;
        GD_TRY_ASSIGN(const Stack* stack, context.stacks.read(allocation.stackId));
        const Frame* other = userFrame(*stack);
        if (other == nullptr)
            continue;
        result = result.value_or(0);
        const bool same = wanted.line != 0 ? other->line == wanted.line && other->file == wanted.file
                                           : other->address == wanted.address;
        if (same && other->function == wanted.function)
            return std::optional<std::int64_t>(1);
    }
    return result;
}

std::string lastNodeBefore(const ProcessData& process, const Capture& capture, std::int64_t timeNs) {
    const Node* last = nullptr;
    for (const std::int32_t index : capture.nodes) {
        const Node& node = process.nodes[static_cast<std::size_t>(index)];
        if (node.createdNs <= timeNs && (last == nullptr || node.createdNs >= last->createdNs))
            last = &node;
    }
    return last == nullptr ? std::string() : last->name.empty() ? last->type : last->name;
}

std::string foreignKind(const std::string& thread, const Stack& stack) {
    const auto named = [&](std::initializer_list<const char*> words) {
        return std::any_of(words.begin(), words.end(), [&](const char* word) {
            return thread.find(word) != std::string::npos;
        }) || mentions(stack, words);
    };
    if (named({"pin_memory", "pt_data_pin", "PinMemory"}))
        return "pin_memory";
    if (named({"nccl_watchd", "ncclCommWatchdog", "Watchdog", "watchdog", "heartbeatMonitor"}))
        return "nccl_watchdog";
    if (named({"ncclProxy", "libnccl-net", "libnccl", "NCCL "}))
        return "nccl_proxy";
    if (named({"pt_autograd", "torch::autograd", "AutogradEngine"}))
        return "autograd";
    if (named({"telemetry", "nvml", "dcgm", "metrics", "monitor", "prometheus"}))
        return "telemetry";
    return "user_worker";
}

bool destroys(const CaptureFail& fail) {
    return fail.known == KnownCall::destroyObject;
}

// Why an object was destroyed just then. A collector of cycles can be held off, a last reference cannot.
const char* destroyedBy(const Stack& stack) {
    if (mentions(stack, {"gc_collect", "PyGC_", "_PyGC", "Py_RunGC", "run_gc", "GarbageCollect"}))
        return "gc";
    if (mentions(stack,
            {"Py_Dealloc", "subtype_dealloc", "Py_DECREF", "__del__", "dict_dealloc", "finalize_garbage",
                "weakref"}))
        return "refcount";
    return "code";
}

std::int64_t hangAfterNs(const ProcessData& process) {
    constexpr std::int64_t kLeastNs = 30'000'000'000;
    std::vector<std::int64_t> windows;
    for (const Capture& capture : process.captures) {
        if (capture.endNs)
            windows.push_back(*capture.endNs - capture.startNs);
    }
    return std::max(kLeastNs, 20 * medianNs(windows).value_or(0));
}

class OutcomeWriter {
public:
    OutcomeWriter(FactContext& context, Statement insert)
        : m_context(context)
        , m_insert(std::move(insert)) { }

    Result<void> write(const ProcessData& process, const CallIndex& calls, const Capture& capture,
        const CaptureFails& fails) {
        const CaptureFail* first = fails.first();
        Surroundings around;
        around.endNs = capture.endNs.value_or(std::max(process.endNs, capture.startNs));
        around.streams.insert(capture.streamId);
        for (const CaptureJoin& join : capture.joins)
            around.streams.insert(join.streamId);
        lookAtCalls(process, calls, capture, first, around);
        around.retriedOk
            = std::any_of(process.captures.begin(), process.captures.end(), [&](const Capture& other) {
                  return other.streamId == capture.streamId && other.startNs > capture.startNs
                      && other.endResult == 0;
              });
        around.oomBefore = around.oomBefore || fails.outOfMemoryBefore(first);
        GD_TRY(judgeScope(m_context, process, capture, first, around));
        m_insert.bind(":root_capture_id", rootOf(process, capture, fails));
        bindCapture(process, capture, fails, around);
        GD_TRY(bindFail(process, capture, first));
        GD_TRY_ASSIGN(const auto warm, warmSameSite(m_context, process, capture, first));
        m_insert.bind(":warm_same_site", warm);
        m_insert.bind(":later_failures", fails.laterThan(first));
        bindSurroundings(around);
        GD_TRY(m_insert.run());
        m_insert.clearBindings();
        return {};
    }

private:
    // What failed, with what, and where the code stood: equal for attempts of one faulty region.
    std::int64_t rootOf(const ProcessData& process, const Capture& capture, const CaptureFails& fails) {
        if (capture.endResult == 0)
            return capture.captureId;
        const CaptureFail* first = fails.first();
        const std::int64_t place = first != nullptr ? first->stackId
            : capture.strayStackId != 0             ? capture.strayStackId
                                                    : capture.beginStackId;
        const std::int64_t result = first != nullptr ? first->result : capture.endResult.value_or(-1);
        // Without a stack two failures cannot be told to be one.
        if (place == 0)
            return capture.captureId;
        const auto key = std::tuple(process.processId, first == nullptr ? 0 : first->apiId, result, place);
        return m_roots.try_emplace(key, capture.captureId).first->second;
    }

    std::optional<std::string> resultName(std::optional<std::int64_t> result) const {
        if (!result)
            return std::nullopt;
        const auto found = m_context.raw.resultNames.find(*result);
        return found == m_context.raw.resultNames.end() ? "error " + std::to_string(*result) : found->second;
    }

    void bindCapture(const ProcessData& process, const Capture& capture, const CaptureFails& fails,
        const Surroundings& around) {
        // An end on the wrong stream or thread is only a failing call of a capture that stays open. It breaks
        // the capture: the right end, when it still comes, gets 901 or 401 (seen on an H200).
        const bool brokenEnd = capture.endResult == 901 || capture.endResult == 401;
        const bool maybeWrong = !capture.endResult || (brokenEnd && fails.first() == nullptr);
        const CaptureFail* wrongEnd = maybeWrong ? fails.endCall() : nullptr;
        const auto endResult
            = wrongEnd != nullptr ? std::optional<std::int64_t>(wrongEnd->result) : capture.endResult;
        const std::int64_t endThread = wrongEnd != nullptr ? wrongEnd->threadId : capture.endThreadId;
        m_insert.bind(":process_id", process.processId);
        m_insert.bind(":capture_id", capture.captureId);
        m_insert.bind(":graph_id", orNull(capture.graphId));
        m_insert.bind(":device_id", capture.deviceId);
        m_insert.bind(":stream_id", capture.streamId);
        m_insert.bind(":origin_non_blocking", capture.originNonBlocking);
        m_insert.bind(":mode", capture.mode);
        m_insert.bind(":begin_thread_id", capture.beginThreadId);
        m_insert.bind(":begin_thread", orNull(process.threadName(capture.beginThreadId)));
        m_insert.bind(":start_ns", capture.startNs);
        m_insert.bind(":end_ns", around.endNs);
        m_insert.bind(":step", process.stepNumberAt(capture.startNs));
        m_insert.bind(":state",
            !capture.endNs               ? "not_ended"
                : capture.endResult == 0 ? "ended_ok"
                                         : "ended_error");
        m_insert.bind(":end_result", endResult);
        m_insert.bind(":end_result_name", resultName(endResult));
        m_insert.bind(":end_thread_id", orNull(endThread));
        m_insert.bind(":end_thread", orNull(process.threadName(endThread)));
        m_insert.bind(":end_stack_id", orNull(wrongEnd != nullptr ? wrongEnd->stackId : capture.endStackId));
        m_insert.bind(":begin_stack_id", orNull(capture.beginStackId));
        m_insert.bind(":node_count", capture.nodeCount);
        m_insert.bind(":range_path",
            orNull(rangePathAt(m_context.raw, process, capture.beginThreadId, capture.startNs)));
        m_insert.bind(":stray_stream_id", orNull(capture.strayStreamId));
        m_insert.bind(":stray_stack_id", orNull(capture.strayStackId));
        m_insert.bind(":open_ns", around.endNs - capture.startNs);
        m_insert.bind(":hang_after_ns", hangAfterNs(process));
        m_insert.bind(":process_closed", process.endedClosed);
    }

    Result<void> bindFail(const ProcessData& process, const Capture& capture, const CaptureFail* first) {
        m_insert.bind(":last_node",
            orNull(lastNodeBefore(process, capture, first == nullptr ? process.endNs : first->startNs)));
        if (first == nullptr)
            return {};
        GD_TRY_ASSIGN(const Stack* stack, m_context.stacks.read(first->stackId));
        m_insert.bind(":fail_api", m_context.raw.apiName(first->apiId));
        const auto api = m_context.raw.apis.find(first->apiId);
        m_insert.bind(":fail_runtime_api",
            api == m_context.raw.apis.end() ? std::nullopt : orNull(api->second.runtimeName));
        m_insert.bind(":fail_class", first->apiClass);
        m_insert.bind(":fail_result", first->result);
        m_insert.bind(":fail_result_name", resultName(first->result));
        m_insert.bind(":fail_start_ns", first->startNs);
        m_insert.bind(":fail_end_ns", first->endNs);
        m_insert.bind(":fail_thread_id", first->threadId);
        m_insert.bind(":fail_thread", orNull(process.threadName(first->threadId)));
        m_insert.bind(":fail_stack_id", orNull(first->stackId));
        m_insert.bind(":fail_stream_id", orNull(first->streamId));
        m_insert.bind(":fail_object_id", orNull(first->objectId));
        m_insert.bind(":fail_bytes", orNull(first->bytes));
        m_insert.bind(":fail_same_thread", first->threadId == capture.beginThreadId);
        m_insert.bind(":fail_member_stream", first->memberStream);
        m_insert.bind(":fail_member_event", first->memberEvent);
        m_insert.bind(":fail_legacy_stream", first->legacyStream);
        m_insert.bind(":fail_same_device", first->sameDevice);
        if (first->threadId != capture.beginThreadId)
            m_insert.bind(":fail_sub_kind", foreignKind(process.threadName(first->threadId), *stack));
        if (destroys(*first) && !stack->empty())
            m_insert.bind(":fail_destroyed_by", destroyedBy(*stack));
        m_insert.bind(":fail_in_tool", isInTool(*stack));
        m_insert.bind(":fail_other_capture_id", orNull(first->otherCaptureId));
        m_insert.bind(":fail_event_record_ns", first->eventRecordNs);
        m_insert.bind(":fail_event_stream_id", orNull(first->eventStreamId));
        if (first->eventRecordNs)
            m_insert.bind(":fail_event_before", *first->eventRecordNs < capture.startNs);
        return {};
    }

    void bindSurroundings(const Surroundings& around) {
        m_insert.bind(":oom_before", around.oomBefore);
        m_insert.bind(":victims_after", around.victims);
        if (around.firstVictim != nullptr) {
            m_insert.bind(":first_victim", m_context.raw.apiName(around.firstVictim->apiId));
            m_insert.bind(":first_victim_stack_id", orNull(around.firstVictim->stackId));
        }
        m_insert.bind(":retried_ok", around.retriedOk);
        m_insert.bind(":left_scope", around.leftScope);
        m_insert.bind(":abandoned", around.abandoned);
        m_insert.bind(":legacy_calls", around.legacyCalls);
        if (around.firstLegacy != nullptr) {
            m_insert.bind(":legacy_stack_id", orNull(around.firstLegacy->stackId));
            m_insert.bind(":legacy_thread_id", around.firstLegacy->threadId);
        }
    }

    FactContext& m_context;
    Statement m_insert;
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::int64_t> m_roots;
};

} // namespace

Result<void> buildCaptureOutcome(FactContext& context) {
    GD_TRY_ASSIGN(auto fails, readCaptureFails(context.db));
    addEventsAskedAfterwards(context.raw, fails);
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO capture_outcome VALUES (:process_id, :capture_id, :graph_id, :device_id, "
            ":stream_id, "
            ":origin_non_blocking, :mode, :begin_thread_id, :begin_thread, :start_ns, :end_ns, :step, "
            ":state, "
            ":end_result, :end_result_name, :end_thread_id, :end_thread, :end_stack_id, :begin_stack_id, "
            ":node_count, "
            ":last_node, :range_path, :fail_api, :fail_runtime_api, :fail_class, :fail_result, "
            ":fail_result_name, "
            ":fail_start_ns, :fail_end_ns, :fail_thread_id, :fail_thread, :fail_stack_id, :fail_stream_id, "
            ":fail_object_id, :fail_bytes, :fail_same_thread, :fail_member_stream, :fail_member_event, "
            ":fail_legacy_stream, :fail_same_device, :fail_sub_kind, :fail_destroyed_by, :fail_in_tool, "
            ":fail_other_capture_id, "
            ":fail_event_record_ns, :fail_event_stream_id, :fail_event_before, :oom_before, :warm_same_site, "
            ":later_failures, :victims_after, :first_victim, :first_victim_stack_id, :retried_ok, "
            ":stray_stream_id, "
            ":stray_stack_id, :open_ns, :left_scope, :root_capture_id, :abandoned, :legacy_calls, "
            ":legacy_stack_id, "
            ":legacy_thread_id, "
            ":hang_after_ns, :process_closed)"));
    OutcomeWriter writer(context, std::move(insert));
    for (const ProcessData& process : context.raw.processes) {
        const CallIndex calls(process);
        for (const Capture& capture : process.captures)
            GD_TRY(writer.write(process, calls, capture, fails[{process.processId, capture.captureId}]));
    }
    return {};
}

} // namespace gd::facts
