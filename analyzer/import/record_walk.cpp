// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/record_walk.h"

#include "collector/raw/records_activity.h"
#include "collector/raw/records_comm.h"
#include "collector/raw/records_coverage.h"
#include "collector/raw/records_graph.h"
#include "collector/raw/records_memory.h"
#include "collector/raw/records_process.h"

#include <array>

namespace gd::importer {
namespace {

using raw::RecordKind;

// Size of a record's fixed part by kind, 0 = no such kind.
constexpr auto kFixedBytes = [] {
    std::array<std::uint16_t, 128> bytes{};
    const auto set = [&bytes]<class... R>() {
        ((bytes[static_cast<std::size_t>(R::kKind)] = static_cast<std::uint16_t>(sizeof(R))), ...);
    };
    set.template operator()<raw::ProcessStart, raw::ProcessFact, raw::EnvVar, raw::Thread, raw::Module,
        raw::String, raw::Stack, raw::ProcessEnd, raw::SchedulingNoise>();
    set.template operator()<raw::Coverage, raw::Loss, raw::Issue, raw::ControlState, raw::Device,
        raw::Context, raw::Stream, raw::Event, raw::ApiEnter, raw::ApiCall>();
    set.template operator()<raw::CaptureBegin, raw::CaptureJoin, raw::CaptureFail, raw::CaptureEnd,
        raw::ThreadCaptureMode, raw::Graph, raw::GraphNode, raw::GraphEdge, raw::GraphExec>();
    set.template
    operator()<raw::NodeKernel, raw::NodePointer, raw::NodeScalar, raw::NodeMemory, raw::Alloc, raw::Free,
        raw::MemoryPool, raw::MemorySample, raw::FrameworkBlock, raw::EagerLaunch, raw::ScalarSet>();
    set.template operator()<raw::KernelShape, raw::Kernel, raw::Memcpy, raw::Memset, raw::GraphTrace,
        raw::Sync, raw::Range, raw::Counter, raw::Comm, raw::CommOp>();
    return bytes;
}();

bool hasTail(std::uint16_t kind) {
    return kind == static_cast<std::uint16_t>(RecordKind::String)
        || kind == static_cast<std::uint16_t>(RecordKind::Stack)
        || kind == static_cast<std::uint16_t>(RecordKind::ScalarSet);
}

} // namespace

bool isKnownKind(std::uint16_t kind) {
    return kind < kFixedBytes.size() && kFixedBytes[kind] != 0;
}

bool plausibleSize(std::uint16_t kind, std::size_t bytes) {
    if (!isKnownKind(kind))
        return false;
    return hasTail(kind) ? bytes >= kFixedBytes[kind] : bytes == kFixedBytes[kind];
}

std::size_t nextCommitted(const Chunk& chunk, std::size_t offset) {
    const std::size_t size = chunk.payload.size();
    raw::RecordHeader header;
    std::memcpy(&header, chunk.payload.data() + offset, sizeof header);
    // The collector stores the length first; only a thread that was stopped before even that leaves zeros.
    if ((header.kind & raw::kReservedRecordBit) != 0 && header.size8 == 0) {
        const std::size_t bytes
            = std::size_t{static_cast<std::uint16_t>(header.kind & ~raw::kReservedRecordBit)} * 8;
        if (bytes != 0 && bytes <= raw::kMaxRecordBytes && bytes <= size - offset)
            return offset + bytes;
    }
    for (std::size_t at = offset + 8; at + sizeof header <= size; at += 8) {
        std::memcpy(&header, chunk.payload.data() + at, sizeof header);
        const std::size_t bytes = std::size_t{header.size8} * 8;
        const bool near = header.sequence - chunk.header.firstRecordSequence <= raw::kChunkBytes / 8;
        const bool reserved = header.size8 == 0 && (header.kind & raw::kReservedRecordBit) != 0;
        if (near && (reserved || (plausibleSize(header.kind, bytes) && bytes <= size - at)))
            return at;
    }
    return size;
}

} // namespace gd::importer
