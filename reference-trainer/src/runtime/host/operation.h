// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm_call.h"
#include "runtime/graph.h"
#include "runtime/host/timeline.h"
#include "runtime/kernel.h"
#include "runtime/stream.h"

#include <array>
#include <cstddef>
#include <memory>
#include <variant>
#include <vector>

namespace gdt::runtime::host {

struct EventState;
struct ExecState;
struct ExecBody;

/// An address that work was given, with the generation of the block it lay in; kept in checked mode only.
struct Reference {
    const void* pointer = nullptr;
    std::uint64_t generation = 0;
};

struct KernelOperation {
    const KernelInfo* kernel = nullptr;
    Grid grid;
    alignas(16) std::array<std::byte, kMaxArgumentBytes> arguments;
};

struct CopyOperation {
    void* destination = nullptr;
    const void* source = nullptr;
    std::size_t bytes = 0;
    CopyKind kind = CopyKind::HostToHost;
    std::shared_ptr<std::vector<std::byte>>
        staging; ///< holds a pageable source's bytes, so that the call can return
};

struct FillOperation {
    void* destination = nullptr;
    int value = 0;
    std::size_t bytes = 0;
};

struct HostOperation {
    HostFunction function = nullptr;
    void* userData = nullptr;
};

struct CommOperation {
    CommCall call;
    std::uint64_t id = 0; ///< of the comm_op that a tool was told
    bool captured = false;
};

/// Graph memory that becomes live, or stops being live, at this node.
struct AllocOperation {
    void* pointer = nullptr;
    std::size_t bytes = 0;
};

/// In a stream: gives the block back to the device. In a graph: the end of the block's use.
struct ReleaseOperation {
    void* pointer = nullptr;
};

/// In a stream `marker` is the recording; in a graph each launch makes its own.
struct RecordOperation {
    std::shared_ptr<EventState> event;
    std::shared_ptr<Marker> marker;
};

struct WaitMarkerOperation {
    std::shared_ptr<EventState> event;
    std::shared_ptr<Marker> marker;
};

struct WaitPointOperation {
    std::shared_ptr<Timeline> timeline;
    std::uint64_t sequence = 0;
};

struct ReplayOperation {
    std::uint64_t execId = 0;
    std::shared_ptr<const ExecBody> body;
    /// For the body's event nodes in node order: the recordings of this launch.
    std::vector<std::shared_ptr<Marker>> markers;
};

using Operation = std::variant<KernelOperation, CopyOperation, FillOperation, HostOperation, CommOperation,
    AllocOperation, ReleaseOperation, RecordOperation, WaitMarkerOperation, WaitPointOperation,
    ReplayOperation>;

/// A node of a graph or of an executable graph. `dependencies` are ascending indices of earlier nodes.
struct Node {
    std::uint64_t id = 0;
    NodeType type = NodeType::Empty;
    std::vector<std::uint32_t> dependencies;
    Operation operation;
    std::vector<Reference> references;
    std::uint64_t stream = 0;
};

/// An entry of a stream's queue.
struct Entry {
    std::uint64_t sequence = 0;
    std::uint64_t correlation = 0;
    Operation operation;
    std::vector<Reference> references;
};

} // namespace gdt::runtime::host
