// SPDX-License-Identifier: Apache-2.0
// A libcupti without a driver behind it: keeps what it is asked for, hands out records, and fails on request.
#include "tests/e2e/made_up_cuda/cupti.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#define GD_MADE_UP extern "C" __attribute__((visibility("default")))

namespace {

struct State {
    std::mutex mutex;
    CUpti_CallbackFunc callback = nullptr;
    void* user = nullptr;
    std::set<std::pair<int, unsigned>> enabled;
    std::set<int> kinds;
    CUpti_BuffersCallbackRequestFunc request = nullptr;
    CUpti_BuffersCallbackCompleteFunc complete = nullptr;
    CUpti_TimestampCallbackFunc clock = nullptr;
    std::deque<CUpti_ActivityGraphTrace2> records;
    unsigned flushes = 0; ///< that delivered records
    unsigned flushCalls = 0;
    std::atomic<unsigned> refusals{0};
    std::atomic<bool> ended{false};
};

State& state() {
    static State* const only = new State; // callbacks may come while the process ends
    return *only;
}

// The real one's destructors leave nothing behind that a call could work with.
struct End {
    ~End() { state().ended = true; }
} g_end;

/// What `function` is to answer.
CUptiResult answer(const char* function) {
    if (state().ended) {
        std::fprintf(stderr, "%s: called after the end of CUPTI\n", function);
        std::abort();
    }
    if (const char* faulty = std::getenv("GD_CUPTI_FAULTS");
        faulty != nullptr && std::strcmp(faulty, function) == 0) {
        std::raise(SIGSEGV);
    }
    const char* wanted = std::getenv("GD_CUPTI_FAILS");
    const std::size_t length = std::strlen(function);
    if (wanted == nullptr || std::strncmp(wanted, function, length) != 0 || wanted[length] != '=') {
        return CUPTI_SUCCESS;
    }
    ++state().refusals;
    return static_cast<CUptiResult>(std::atoi(wanted + length + 1));
}

} // namespace

#define GD_ANSWER()                                                                                          \
    if (const CUptiResult given = answer(__func__); given != CUPTI_SUCCESS) {                                \
        return given;                                                                                        \
    }

GD_MADE_UP void madeUpNotify(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    CUpti_CallbackFunc callback = nullptr;
    {
        const std::lock_guard lock(state().mutex);
        callback = state().enabled.count({domain, id}) != 0 ? state().callback : nullptr;
    }
    if (callback != nullptr) {
        callback(state().user, domain, id, data);
    }
}

GD_MADE_UP void madeUpReplay(std::uint32_t correlation, std::uint32_t exec) {
    const std::lock_guard lock(state().mutex);
    if (state().kinds.count(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == 0 || state().clock == nullptr) {
        return;
    }
    CUpti_ActivityGraphTrace2 record{};
    record.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    record.correlationId = correlation;
    record.graphId = exec;
    record.end = state().clock();
    record.start = record.end - 500;
    record.contextId = 1;
    record.streamId = 13;
    state().records.push_back(record);
}

GD_MADE_UP unsigned madeUpFlushes() {
    const std::lock_guard lock(state().mutex);
    return state().flushes;
}

GD_MADE_UP unsigned madeUpFlushCalls() {
    const std::lock_guard lock(state().mutex);
    return state().flushCalls;
}

GD_MADE_UP unsigned madeUpKinds() {
    const std::lock_guard lock(state().mutex);
    return static_cast<unsigned>(state().kinds.size());
}

GD_MADE_UP unsigned madeUpRefusals() {
#ifdef GD_OLD_CUPTI
    return 1;
#else
    return state().refusals + (std::getenv("GD_CUPTI_VERSION") != nullptr ? 1 : 0);
#endif
}

GD_MADE_UP CUptiResult cuptiGetVersion(std::uint32_t* version) {
    GD_ANSWER()
    const char* wanted = std::getenv("GD_CUPTI_VERSION");
    *version = wanted != nullptr ? static_cast<std::uint32_t>(std::atoi(wanted)) : 130001;
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiSubscribe(
    CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* user) {
    GD_ANSWER()
    const std::lock_guard lock(state().mutex);
    if (state().callback != nullptr) {
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    state().callback = callback;
    state().user = user;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&state());
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback,
    void* user, CUpti_SubscriberParams* params) {
    GD_ANSWER()
    if (const char* ms = std::getenv("GD_CUPTI_SUBSCRIBES_MS")) { // the real one takes its time
        const timespec pause{0, std::atoi(ms) * 1'000'000L};
        nanosleep(&pause, nullptr);
    }
    static std::string owner;
    const CUptiResult result = cuptiSubscribe(subscriber, callback, user);
    if (result == CUPTI_SUCCESS) {
        owner = params->subscriberName;
    } else if (params->oldSubscriberName != nullptr && params->oldSubscriberSize > owner.size()) {
        std::strcpy(params->oldSubscriberName, owner.c_str());
    }
    return result;
}

GD_MADE_UP CUptiResult cuptiEnableCallback(
    std::uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    GD_ANSWER()
    const std::lock_guard lock(state().mutex);
    if (on != 0) {
        state().enabled.insert({domain, id});
    } else {
        state().enabled.erase({domain, id});
    }
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
    GD_ANSWER()
    *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
                                                          : "CUPTI_ERROR";
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiGetDeviceId(CUcontext, std::uint32_t* device) {
    GD_ANSWER()
    *device = 0;
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiGetContextId(CUcontext, std::uint32_t* id) {
    GD_ANSWER()
    *id = 1;
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiGetStreamIdEx(CUcontext, CUstream stream, std::uint8_t, std::uint32_t* id) {
    GD_ANSWER()
    *id = stream == nullptr ? 7 : 13;
    return CUPTI_SUCCESS;
}

#ifndef GD_OLD_CUPTI
GD_MADE_UP CUptiResult cuptiGetGraphId(CUgraph graph, std::uint32_t* id) {
    GD_ANSWER()
    *id = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(graph) >> 8);
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiGetGraphExecId(CUgraphExec exec, std::uint32_t* id) {
    GD_ANSWER()
    *id = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(exec) >> 8);
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiGetGraphNodeId(CUgraphNode node, std::uint64_t* id) {
    GD_ANSWER()
    *id = reinterpret_cast<std::uint64_t>(node);
    return CUPTI_SUCCESS;
}
#endif

GD_MADE_UP CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
    GD_ANSWER()
    const std::lock_guard lock(state().mutex);
    state().kinds.insert(kind);
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
    GD_ANSWER()
    const std::lock_guard lock(state().mutex);
    state().kinds.erase(kind);
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiActivityRegisterCallbacks(
    CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
    GD_ANSWER()
    state().request = request;
    state().complete = complete;
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
    GD_ANSWER()
    state().clock = clock;
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
    GD_ANSWER()
    const std::lock_guard lock(state().mutex);
    state().callback = nullptr;
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, std::size_t*, void*) {
    GD_ANSWER()
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiActivityFlushAll(std::uint32_t) {
    std::deque<CUpti_ActivityGraphTrace2> records;
    {
        const std::lock_guard lock(state().mutex);
        ++state().flushCalls;
        records.swap(state().records);
    }
    GD_ANSWER()
    if (records.empty() || state().request == nullptr) {
        return CUPTI_SUCCESS;
    }
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0;
    std::size_t most = 0;
    state().request(&buffer, &bytes, &most);
    std::size_t used = 0;
    for (const auto& record : records) {
        if (buffer != nullptr && used + sizeof record <= bytes) {
            std::memcpy(buffer + used, &record, sizeof record);
            used += sizeof record;
        }
    }
    state().complete(nullptr, 0, buffer, bytes, used);
    const std::lock_guard lock(state().mutex);
    ++state().flushes;
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiActivityGetNextRecord(
    std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record) {
    GD_ANSWER()
    auto* next = *record == nullptr
        ? buffer
        : reinterpret_cast<std::uint8_t*>(*record) + sizeof(CUpti_ActivityGraphTrace2);
    if (next + sizeof(CUpti_ActivityGraphTrace2) > buffer + bytes) {
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    *record = reinterpret_cast<CUpti_Activity*>(next);
    return CUPTI_SUCCESS;
}

GD_MADE_UP CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
    GD_ANSWER()
    const char* wanted = std::getenv("GD_CUPTI_DROPS");
    *dropped = wanted != nullptr ? static_cast<std::size_t>(std::atoi(wanted)) : 0;
    return CUPTI_SUCCESS;
}
