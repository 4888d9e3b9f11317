// SPDX-License-Identifier: Apache-2.0
#include "collector/cupti/objects.h"

#include "collector/raw/records_api.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace gd::cupti {

namespace {

using session::SpinGuard;

// Records keep 32 bits of a stream id: 20 for CUPTI's number, then the context, then the two kinds of streams
// that have no number.
constexpr std::uint64_t kContextShift = 20;
constexpr std::uint64_t kPerThread = std::uint64_t{1} << 30;
constexpr std::uint64_t kUnknown = std::uint64_t{1} << 31;

constexpr std::uint32_t kLegacyTries = 200;

std::uint64_t perThreadStream() {
    thread_local const std::uint64_t id = kPerThread | static_cast<std::uint64_t>(syscall(SYS_gettid));
    return id;
}

} // namespace

std::uint64_t Objects::contextCreated(CUcontext context, std::uint32_t device) noexcept {
    const SpinGuard guard(m_lock);
    ContextEntry* entry = m_contexts.insert(key(context));
    if (entry == nullptr) {
        return 0;
    }
    if (entry->id == 0) {
        *entry = {m_nextContext++, device, kLegacyTries};
    }
    return entry->id;
}

std::uint64_t Objects::context(CUcontext context, std::uint32_t& device) noexcept {
    const SpinGuard guard(m_lock);
    const ContextEntry* entry = context != nullptr ? m_contexts.find(key(context)) : nullptr;
    if (entry == nullptr) {
        return 0;
    }
    device = entry->device;
    return entry->id;
}

bool Objects::wantsLegacyStream(CUcontext context) noexcept {
    const SpinGuard guard(m_lock);
    ContextEntry* entry = context != nullptr ? m_contexts.find(key(context)) : nullptr;
    if (entry == nullptr || entry->legacyTries == 0) {
        return false;
    }
    --entry->legacyTries;
    return true;
}

void Objects::legacyStreamKnown(CUcontext context) noexcept {
    const SpinGuard guard(m_lock);
    if (ContextEntry* entry = context != nullptr ? m_contexts.find(key(context)) : nullptr) {
        entry->legacyTries = 0;
    }
}

std::uint64_t Objects::contextDestroyed(CUcontext context) noexcept {
    const SpinGuard guard(m_lock);
    const ContextEntry* entry = m_contexts.find(key(context));
    const std::uint64_t id = entry != nullptr ? entry->id : 0;
    m_contexts.erase(key(context));
    return id;
}

std::uint64_t Objects::streamNumber(std::uint64_t context, std::uint32_t cuptiId) noexcept {
    return (context > 1 ? (context - 1) << kContextShift : 0) | cuptiId;
}

std::uint64_t Objects::streamCreated(
    CUstream stream, std::uint64_t context, std::uint32_t cuptiId, std::uint32_t device) noexcept {
    const SpinGuard guard(m_lock);
    StreamEntry* entry = m_streams.insert(key(stream));
    if (entry == nullptr) {
        return 0;
    }
    const std::uint64_t id
        = cuptiId > raw::kLegacyStream ? streamNumber(context, cuptiId) : kUnknown | ++m_nextUnknownStream;
    *entry = {id, device, context != 0};
    return id;
}

std::uint64_t Objects::stream(const CallArguments& arguments, std::uint32_t* device) noexcept {
    if (!arguments.namesStream) {
        return arguments.defaultStream == DefaultStream::Legacy   ? raw::kLegacyStream
            : arguments.defaultStream == DefaultStream::PerThread ? perThreadStream()
                                                                  : 0;
    }
    if (arguments.stream == CU_STREAM_LEGACY
        || (arguments.stream == nullptr && arguments.defaultStream != DefaultStream::PerThread)) {
        return raw::kLegacyStream;
    }
    if (arguments.stream == CU_STREAM_PER_THREAD || arguments.stream == nullptr) {
        return perThreadStream();
    }
    const SpinGuard guard(m_lock);
    StreamEntry* entry = m_streams.insert(key(arguments.stream));
    if (entry == nullptr) {
        return 0;
    }
    if (entry->id == 0) {
        entry->id = kUnknown | ++m_nextUnknownStream;
    }
    if (device != nullptr && entry->knowsDevice) {
        *device = entry->device;
    }
    return entry->id;
}

std::uint64_t Objects::streamDestroyed(CUstream stream) noexcept {
    const SpinGuard guard(m_lock);
    const StreamEntry* found = m_streams.find(key(stream));
    const std::uint64_t id = found != nullptr ? found->id : 0;
    m_streams.erase(key(stream));
    return id;
}

std::uint64_t Objects::eventCreated(CUevent event) noexcept {
    const SpinGuard guard(m_lock);
    std::uint64_t* id = m_events.insert(key(event));
    return id != nullptr ? *id = m_nextEvent++ : 0;
}

std::uint64_t Objects::event(CUevent event) noexcept {
    if (event == nullptr) {
        return 0;
    }
    const SpinGuard guard(m_lock);
    std::uint64_t* id = m_events.insert(key(event));
    if (id == nullptr) {
        return 0;
    }
    if (*id == 0) { // from another process, or created before this library was loaded
        *id = m_nextEvent++;
    }
    return *id;
}

std::uint64_t Objects::eventDestroyed(CUevent event) noexcept {
    const SpinGuard guard(m_lock);
    const std::uint64_t* found = m_events.find(key(event));
    const std::uint64_t id = found != nullptr ? *found : 0;
    m_events.erase(key(event));
    return id;
}

void Objects::graphCreated(CUgraph graph, const GraphEntry& entry) noexcept {
    const SpinGuard guard(m_lock);
    if (GraphEntry* place = m_graphs.insert(key(graph))) {
        *place = entry;
    }
}

bool Objects::graph(CUgraph graph, GraphEntry& out) noexcept {
    const SpinGuard guard(m_lock);
    const GraphEntry* entry = graph != nullptr ? m_graphs.find(key(graph)) : nullptr;
    if (entry != nullptr) {
        out = *entry;
    }
    return entry != nullptr;
}

std::uint64_t Objects::graphId(CUgraph graph) noexcept {
    GraphEntry entry{};
    return this->graph(graph, entry) ? entry.id : 0;
}

bool Objects::graphDestroyed(CUgraph graph, GraphEntry& out) noexcept {
    const SpinGuard guard(m_lock);
    const GraphEntry* entry = m_graphs.find(key(graph));
    if (entry == nullptr) {
        return false;
    }
    out = *entry;
    m_graphs.erase(key(graph));
    return true;
}

void Objects::mark(CUgraph graph, bool GraphEntry::*what) noexcept {
    const SpinGuard guard(m_lock);
    constexpr int kMaxDepth = 64; // a damaged chain must end
    for (int depth = 0; graph != nullptr && depth < kMaxDepth; ++depth) {
        GraphEntry* entry = m_graphs.find(key(graph));
        if (entry == nullptr) {
            return;
        }
        entry->*what = true;
        graph = entry->parentGraph;
    }
}

void Objects::execCreated(CUgraphExec exec, const ExecEntry& entry) noexcept {
    const SpinGuard guard(m_lock);
    if (ExecEntry* place = m_execs.insert(key(exec))) {
        *place = entry;
    }
}

std::uint64_t Objects::execId(CUgraphExec exec) noexcept {
    const SpinGuard guard(m_lock);
    const ExecEntry* entry = exec != nullptr ? m_execs.find(key(exec)) : nullptr;
    return entry != nullptr ? entry->id : 0;
}

bool Objects::execLaunched(CUgraphExec exec) noexcept {
    const SpinGuard guard(m_lock);
    ExecEntry* entry = exec != nullptr ? m_execs.find(key(exec)) : nullptr;
    const bool isFirst = entry != nullptr && !entry->launched;
    if (isFirst) {
        entry->launched = true;
    }
    return isFirst;
}

bool Objects::execDestroyed(CUgraphExec exec, ExecEntry& out) noexcept {
    const SpinGuard guard(m_lock);
    const ExecEntry* entry = m_execs.find(key(exec));
    if (entry == nullptr) {
        return false;
    }
    out = *entry;
    m_execs.erase(key(exec));
    return true;
}

bool Objects::execOfContextDestroyed(std::uint64_t context, ExecEntry& out) noexcept {
    const SpinGuard guard(m_lock);
    std::uint64_t found = 0;
    m_execs.forEach([&](std::uint64_t handle, const ExecEntry& entry) noexcept {
        if (entry.context == context) {
            found = handle;
            out = entry;
        }
    });
    return found != 0 && m_execs.erase(found);
}

} // namespace gd::cupti
