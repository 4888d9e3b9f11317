// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"
#include "analyzer/facts/api_names.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace gd::facts {

// The raw tables as arrays, read once. Times are ns of the trace; ids are those of the tables, 0 = none (raw
// ids start at 1; a device is -1 when unknown).

struct ApiCall {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0; // of a call that never returned: end of the process
    std::int64_t correlation = 0;
    std::int64_t streamId = 0;
    std::int64_t objectId = 0;
    std::int64_t bytes = 0;
    std::int64_t stackId = 0;
    std::int32_t threadId = 0;
    std::int32_t result = 0;
    std::int16_t apiId = 0;
    std::int16_t deviceId = -1;
    ApiClass apiClass = ApiClass::other;
    KnownCall known = KnownCall::none;
    bool returned = true;
};

// One kernel, copy or fill on the device.
struct DeviceOp {
    enum class Kind : std::uint8_t { kernel, copy, fill };
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int64_t correlation = 0;
    std::int64_t bytes = 0; // copies and fills
    std::int32_t shapeId = 0; // kernels
    std::int32_t streamId = 0;
    std::int16_t deviceId = 0;
    Kind kind = Kind::kernel;
    bool inGraph = false;
    bool isComm = false;
    bool fromHost = false; // a copy from host memory to a device
    bool fromPageable = false; // and that memory is not pinned
};

struct Replay {
    std::int64_t replayId = 0;
    std::int64_t execId = 0;
    std::int64_t streamId = 0;
    std::int64_t correlation = 0;
    std::int64_t launchStartNs = 0;
    std::int64_t launchEndNs = 0;
    std::int64_t startNs = 0; // device times; meaningful when measured
    std::int64_t endNs = 0;
    std::int64_t stackId = 0;
    std::int32_t threadId = 0;
    std::int32_t result = 0;
    std::int16_t deviceId = 0;
    bool measured = false;
    bool byNodes = false; // start and end come from node records
    std::int32_t step = -1; // index into ProcessData::steps of the launch, -1 = none
    bool steady = false;
};

struct Range {
    std::int64_t startNs = 0;
    std::int64_t endNs = 0; // open ranges: end of the process
    std::int64_t nameId = 0;
    std::int32_t threadId = 0;
    std::int32_t depth = 0;
    bool isMark = false;
    bool closed = true;
};

struct Node {
    std::int64_t nodeId = 0;
    std::int64_t graphId = 0; // 0 for an executable's node
    std::int64_t execId = 0;
    std::int64_t originNodeId = 0; // cloned from it
    std::int64_t parentNodeId
        = 0; // the node of another graph that it runs inside of: of a child graph or a conditional
    std::int64_t captureId = 0;
    std::int64_t streamId = 0;
    std::int64_t createdNs = 0;
    std::int64_t stackId = 0;
    std::int64_t shapeId = 0;
    std::int64_t commOpId = 0;
    std::int32_t threadId = 0; // creating thread
    std::string type;
    std::string name; // kernel, host function or collective; else empty
    std::string rangePath;
};

struct Graph {
    std::int64_t graphId = 0;
    std::int64_t originGraphId = 0;
    std::int64_t captureId = 0;
    std::int64_t createdNs = 0;
    std::optional<std::int64_t> destroyedNs;
    std::int64_t stackId = 0;
    std::optional<std::int64_t> signature;
    std::string rangePath; // ranges that enclose all its nodes, empty without
    std::vector<std::int32_t> nodes; // indices into ProcessData::nodes, in order of creation
};

struct Exec {
    std::int64_t execId = 0;
    std::int64_t graphId = 0;
    std::int64_t createdStartNs = 0;
    std::int64_t createdNs = 0;
    std::optional<std::int64_t> destroyedNs;
    std::int64_t stackId = 0;
    std::optional<std::int64_t> nodeCount;
    std::int32_t threadId = 0;
    std::int32_t result = 0;
    bool fromDevice = false; // made to be launched from the device: of such launches there are no records
    std::vector<std::int32_t> replays; // indices into ProcessData::replays, sorted by launch
    // Where it is launched: the last stack that a launch of it carries (each place has one at its first
    // launch); 0 = none.
    std::int64_t launchStackId = 0;
};

struct CaptureJoin {
    std::int64_t streamId = 0;
    std::int64_t timeNs = 0;
    std::int64_t stackId = 0;
};

struct Capture {
    std::int64_t captureId = 0;
    std::int64_t streamId = 0;
    std::int64_t deviceId = 0;
    std::string mode;
    std::int32_t beginThreadId = 0;
    std::int64_t startNs = 0;
    std::int64_t beginStackId = 0;
    std::optional<std::int64_t> originNonBlocking;
    std::optional<std::int64_t> endStartNs;
    std::optional<std::int64_t> endNs;
    std::int64_t endThreadId = 0;
    std::int64_t endStackId = 0;
    std::optional<std::int64_t> endResult;
    std::int64_t graphId = 0;
    std::optional<std::int64_t> nodeCount;
    std::int64_t strayStreamId = 0;
    std::int64_t strayStackId = 0;
    std::vector<CaptureJoin> joins;
    std::vector<std::int32_t> nodes; // indices into ProcessData::nodes
};

struct Allocation {
    std::int64_t allocationId = 0;
    std::int64_t deviceId = -1; // -1 host memory
    std::string kind;
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    std::int64_t poolId = 0;
    std::int32_t threadId = 0;
    std::int64_t allocNs = 0;
    std::int64_t stackId = 0;
    std::optional<std::int64_t> freeNs;
    std::int32_t freeThreadId = 0;
    std::int64_t freeStackId = 0;

    bool onDevice() const { return deviceId >= 0; }
    // Memory that the driver handed out: not a block inside another allocation.
    bool fromDriver() const {
        return kind != "framework" && kind != "host_pageable" && kind != "host_registered";
    }
};

struct CommOp {
    std::int64_t opId = 0;
    std::int64_t commHash = 0;
    std::string kind;
    std::int64_t count = 0;
    std::int64_t messageBytes = 0;
    std::int64_t streamId = 0;
    std::int64_t timeNs = 0;
    std::int64_t captureId = 0;
    std::int64_t groupId = 0;
    std::int64_t stackId = 0;
    std::int32_t threadId = 0;
    std::int32_t peer = -1; // root or peer, -1 = none or unknown
};

struct Comm {
    std::int64_t commHash = 0;
    std::int64_t nranks = 0;
    std::int64_t rank = 0;
    std::int64_t createdNs = 0;
    std::optional<std::int64_t> destroyStartNs;
    std::optional<std::int64_t> destroyEndNs;
    std::int64_t destroyThreadId = 0;
    std::int64_t destroyStackId = 0;
    bool aborted = false; // ended by an abort, not by a destroy or finalize
};

struct Device {
    std::int64_t deviceId = 0;
    std::int64_t memoryBytes = 0;
    std::int64_t workers = 0; // 0 = a real device
    std::int64_t wakeupP99Ns = 0;
    // Gaps up to this length say nothing about the job.
    std::int64_t noiseNs() const { return workers > 0 ? 3 * wakeupP99Ns : 0; }
    // Nor do idle times that differ by this much from step to step: a thread of a host runtime that loses its
    // core to another process waits for a slice of the kernel's scheduler (4 ms at 250 Hz), which wake-ups
    // measured in a calm moment do not show.
    std::int64_t unevenNs() const { return workers > 0 ? std::max<std::int64_t>(noiseNs(), 4'000'000) : 0; }
};

struct Step {
    std::int64_t step = 0;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int32_t threadId = 0;
    std::string name;
    enum class Kind : std::uint8_t { warmup, steady, excluded, outside } kind = Kind::warmup;
    bool steady() const { return kind == Kind::steady; }
};

enum class CoverageState : std::uint8_t { absent, partial, complete };

struct CoverageSpan {
    std::int64_t fromNs = 0;
    std::int64_t toNs = 0;
    CoverageState state = CoverageState::absent;
    std::string reason;
};

// What was asked to be recorded from this time on.
struct RecordingState {
    std::int64_t timeNs = 0;
    bool off = false; // not even calls
    bool work = false; // device activity
};

struct Thread {
    std::int32_t threadId = 0;
    std::string name;
};

struct ProcessData {
    std::int64_t processId = 0;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::string host; // empty = unknown; clocks of different hosts are not related
    bool endedClosed = false;
    bool isCuda = false;
    // From here on events (calls, device activity, ranges) are there; older ones were dropped to keep to a
    // limit.
    std::optional<std::int64_t> eventsFromNs;
    std::vector<Thread> threads;
    std::vector<Device> devices;
    std::vector<ApiCall> calls; // by thread, then start
    std::unordered_map<std::int32_t, std::pair<std::int32_t, std::int32_t>> callsOfThread; // [first, last)
    std::vector<DeviceOp> ops; // by start
    std::vector<Replay> replays; // by launch
    std::vector<Range> ranges; // by thread, then start
    std::vector<Node> nodes;
    std::vector<Graph> graphs;
    std::vector<Exec> execs;
    std::vector<Capture> captures; // by id
    std::vector<Allocation> allocations; // by time of allocation
    std::vector<CommOp> commOps; // by time
    std::vector<Comm> comms;
    std::map<std::string, std::vector<CoverageSpan>, std::less<>> coverage;

    std::vector<RecordingState> recording; // by time; empty = unknown

    std::vector<Step> steps; // filled by the step fact; by start
    std::unordered_map<std::int64_t, std::int32_t> graphIndex;
    std::unordered_map<std::int64_t, std::int32_t> execIndex;
    std::unordered_map<std::int64_t, std::int32_t> captureIndex;
    std::unordered_map<std::int64_t, std::int32_t> nodeIndex;

    const Graph* graph(std::int64_t id) const;
    const Exec* exec(std::int64_t id) const;
    const Capture* capture(std::int64_t id) const;
    const Node* node(std::int64_t id) const;
    const Device* device(std::int64_t id) const;
    // With its number where another thread has the same name; empty when unknown.
    std::string threadName(std::int64_t id) const;
    // The graph whose nodes were created by capture or by calls: follows clones to their original.
    const Graph* templateOf(const Exec& exec) const;
    // Range path of the capture (or of the first node), else "graph N".
    std::string graphName(const Graph* graph, std::int64_t execId) const;
    // Index of the step that holds this time, -1 = none.
    std::int32_t stepAt(std::int64_t timeNs) const;
    std::optional<std::int64_t> stepNumberAt(std::int64_t timeNs) const;
    // Worst state over [fromNs, toNs); absent where nothing is said.
    CoverageState covered(std::string_view source, std::int64_t fromNs, std::int64_t toNs) const;
    // Share of [fromNs, toNs) in which the source was complete.
    double completeShare(std::string_view source, std::int64_t fromNs, std::int64_t toNs) const;
    bool complete(std::string_view source, std::int64_t fromNs, std::int64_t toNs) const {
        return covered(source, fromNs, toNs) == CoverageState::complete;
    }
    // Calls of a thread that overlap [fromNs, toNs]; fn(call) in order of start.
    template <class Fn>
    void eachCall(std::int32_t threadId, std::int64_t fromNs, std::int64_t toNs, Fn&& fn) const;
    std::size_t firstCallNear(std::int32_t threadId, std::int64_t timeNs, std::size_t* last) const;
};

struct RawData {
    std::vector<ProcessData> processes; // by id
    std::unordered_map<std::int64_t, std::string> strings;
    struct Shape {
        std::int64_t nameId = 0;
        // The same for all shapes of this kernel with these blocks and threads: what a node's shape and that
        // of the kernel that ran have in common. Registers and static memory are known of the latter only.
        std::int64_t launchId = 0;
        bool isComm = false;
        bool isOptimizer = false;
    };
    std::unordered_map<std::int64_t, Shape> shapes;
    struct Api {
        std::string name;
        std::string runtimeName;
        ApiClass apiClass = ApiClass::other;
        KnownCall known = KnownCall::none;
    };
    std::unordered_map<std::int64_t, Api> apis;
    std::unordered_map<std::int64_t, std::string> resultNames;

    std::string_view string(std::int64_t id) const;
    std::string_view shapeName(std::int64_t shapeId) const;
    std::string apiName(std::int64_t apiId) const; // "cuMemAlloc"
};

Result<RawData> readRawData(Db& db);

template <class Fn>
void ProcessData::eachCall(std::int32_t threadId, std::int64_t fromNs, std::int64_t toNs, Fn&& fn) const {
    std::size_t last = 0;
    for (std::size_t i = firstCallNear(threadId, fromNs, &last); i < last && calls[i].startNs <= toNs; ++i) {
        if (calls[i].endNs >= fromNs)
            fn(calls[i]);
    }
}

} // namespace gd::facts
