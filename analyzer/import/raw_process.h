// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/import/row_buffer.h"
#include "analyzer/import/sequence_tracker.h"
#include "collector/raw/records_activity.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/records_coverage.h"
#include "collector/raw/records_graph.h"
#include "collector/raw/records_memory.h"
#include "collector/raw/records_process.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace gd::importer {

// A kernel record without what its track says. 40 bytes: there may be tens of millions.
struct KernelRow {
    std::int64_t startNs;
    std::int64_t endNs;
    std::uint64_t node;
    std::uint64_t correlation;
    raw::ShapeRef shape;
    std::uint32_t exec;
};

// Device work of one (device, stream), in the order of the file.
template <class Row> struct DeviceTrack {
    std::uint16_t device = 0;
    std::uint32_t stream = 0;
    RowBuffer<Row> rows;
};

// Tracks of one kind, found by device and stream. Work of one stream comes in runs, so the last one is kept.
template <class Row> class DeviceTracks {
public:
    RowBuffer<Row>& rowsOf(std::uint16_t device, std::uint32_t stream) {
        if (m_last < m_tracks.size() && m_tracks[m_last].stream == stream
            && m_tracks[m_last].device == device)
            return m_tracks[m_last].rows;
        const std::uint64_t key = std::uint64_t{device} << 32 | stream;
        const auto [found, isNew] = m_index.emplace(key, m_tracks.size());
        if (isNew)
            m_tracks.push_back({device, stream, {}});
        m_last = found->second;
        return m_tracks[m_last].rows;
    }
    std::vector<DeviceTrack<Row>>& all() { return m_tracks; }

private:
    std::vector<DeviceTrack<Row>> m_tracks;
    std::unordered_map<std::uint64_t, std::size_t> m_index;
    std::size_t m_last = 0;
};

struct StackRecord {
    std::vector<std::uint64_t> native; // return addresses, innermost first
    std::vector<raw::PythonFrame> python; // innermost first
};

// A call that may never have returned, or a range event: what one thread did.
struct ThreadEvents {
    RowBuffer<raw::ApiCall> calls;
    RowBuffer<raw::ApiEnter> enters;
    RowBuffer<raw::Range> ranges;
};

struct StringParts {
    std::string text; // bytes so far; complete when `received` == its size
    std::uint32_t received = 0;
};

// Everything one process recorded, decoded but with its own ids and its own clock (CLOCK_MONOTONIC). In no
// particular order unless noted: chunks of several threads interleave.
struct RawProcess {
    std::optional<raw::ProcessStart> start;
    std::optional<raw::ProcessEnd> end;
    std::vector<raw::ProcessFact> facts;
    std::vector<raw::EnvVar> envVars;
    std::vector<raw::Thread> threads;
    std::vector<raw::Module> modules;
    std::unordered_map<raw::StringRef, StringParts> strings;
    std::map<raw::StackRef, StackRecord> stacks;
    std::vector<raw::SchedulingNoise> noise;

    std::vector<raw::Coverage> coverage;
    std::vector<raw::Loss> losses;
    std::vector<raw::Issue> issues;
    std::vector<raw::ControlState> controlStates;

    std::vector<raw::Device> devices;
    std::vector<raw::Context> contexts;
    std::vector<raw::Stream> streams;
    std::vector<raw::Event> events;

    std::map<raw::ThreadRef, ThreadEvents> threadEvents;

    std::vector<raw::CaptureBegin> captureBegins;
    std::vector<raw::CaptureJoin> captureJoins;
    std::vector<raw::CaptureFail> captureFails;
    std::vector<raw::CaptureEnd> captureEnds;
    std::vector<raw::ThreadCaptureMode> captureModes;
    std::vector<raw::Graph> graphs;
    std::vector<raw::GraphNode> nodes;
    std::vector<raw::GraphEdge> edges;
    std::vector<raw::GraphExec> execs;
    std::vector<raw::NodeKernel> nodeKernels;
    std::vector<raw::NodePointer> nodePointers;
    std::vector<raw::NodeScalar> nodeScalars;
    std::vector<raw::NodeMemory> nodeMemories;
    std::vector<raw::EagerLaunch> eagerLaunches;
    std::map<std::uint32_t, std::vector<raw::ScalarWord>> scalarSets;

    std::vector<raw::Alloc> allocs;
    std::vector<raw::Free> frees;
    std::vector<raw::MemoryPool> pools;
    std::vector<raw::MemorySample> memorySamples;
    std::vector<raw::FrameworkBlock> blocks; // in the order of the file

    std::unordered_map<raw::ShapeRef, raw::KernelShape> shapes;
    DeviceTracks<KernelRow> kernels;
    DeviceTracks<raw::Memcpy> copies;
    DeviceTracks<raw::Memset> fills;
    DeviceTracks<raw::Sync> syncs;
    std::vector<raw::GraphTrace> graphTraces;
    std::vector<raw::Counter> counters;
    std::vector<raw::Comm> comms;
    std::vector<raw::CommOp> commOps;

    SequenceTracker historySequences;
    std::map<raw::ThreadRef, SequenceTracker> eventSequences;
    std::int64_t eventsFromNs = 0; // older events were dropped to keep to a limit; 0 = none were
    std::uint64_t records = 0; // without copies
    std::uint64_t historyHoles = 0; // appends that a kill interrupted
    std::uint64_t unknownKinds = 0;
    std::int64_t firstNs = 0; // earliest and latest time of a record, 0 = none
    std::int64_t lastNs = 0;
};

} // namespace gd::importer
