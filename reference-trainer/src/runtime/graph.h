// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/device.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gdt::runtime {

namespace backend {
class Graph;
class Exec;
} // namespace backend

/// CUDA's CUgraphNodeType numbers where CUDA has the type; a captured collective is one node of its own.
enum class NodeType : std::uint32_t {
    Kernel = 0,
    Memcpy = 1,
    Memset = 2,
    Host = 3,
    Empty = 5,
    WaitEvent = 6,
    EventRecord = 7,
    MemAlloc = 10,
    MemFree = 11,
    Comm = 100,
};

/// Why an update was refused: CUgraphExecUpdateResult's numbers.
enum class UpdateResult : std::uint32_t {
    Success = 0,
    Error = 1,
    TopologyChanged = 2,
    NodeTypeChanged = 3,
    FunctionChanged = 4,
    ParametersChanged = 5,
    NotSupported = 6,
};

/// A read-only view of one node. `dependencies` are indices of earlier nodes of the same graph, ascending.
struct NodeView {
    std::uint64_t id = 0;
    NodeType type = NodeType::Empty;
    const char* kernelName = "";
    std::vector<std::uint32_t> dependencies;
    std::vector<std::byte> parameters;
};

enum class InstantiateFlags : std::uint32_t { Default = 0, AutoFreeOnLaunch = 1 };

class GraphExec;

/// The result of a capture: nodes in capture order with their edges. Immutable; owned by one thread at a
/// time.
class Graph {
public:
    Graph() = default;
    ~Graph();
    Graph(Graph&& other) noexcept = default;
    Graph& operator=(Graph&& other) noexcept;

    /// Copies nodes, arguments and edges into an executable graph. [unsafe] in the sense of device.h
    Status instantiate(GraphExec& exec, InstantiateFlags flags = InstantiateFlags::Default) const;
    Status destroy();

    [[nodiscard]] bool valid() const { return m_backend != nullptr; }
    [[nodiscard]] std::uint64_t id() const; ///< 0 when not valid; never shared with an exec of the process
    [[nodiscard]] std::size_t nodeCount() const;
    [[nodiscard]] NodeView node(std::size_t index) const;

    [[nodiscard]] const std::shared_ptr<backend::Graph>& backend() const { return m_backend; }
    void adopt(std::shared_ptr<backend::Graph> graph);

private:
    std::shared_ptr<backend::Graph> m_backend;
};

/// An executable graph. Launches of one exec run one after the other, in the order of their calls. Destroying
/// an exec does not disturb launches that are queued already.
class GraphExec {
public:
    GraphExec() = default;
    ~GraphExec();
    GraphExec(GraphExec&& other) noexcept = default;
    GraphExec& operator=(GraphExec&& other) noexcept;

    Status launch(Stream& stream);
    /// Takes over the arguments of `graph`. Another topology, node type or kernel fails with
    /// GraphExecUpdateFailure, says why in `result`, and leaves the exec as it was. Queued launches keep the
    /// old arguments.
    Status update(const Graph& graph, UpdateResult* result = nullptr);
    /// [unsafe] in the sense of device.h; on failure the exec stays.
    Status destroy();

    [[nodiscard]] bool valid() const { return m_backend != nullptr; }
    [[nodiscard]] std::uint64_t id() const;
    [[nodiscard]] std::size_t nodeCount() const;

    void adopt(std::shared_ptr<backend::Exec> exec);

private:
    std::shared_ptr<backend::Exec> m_backend;
};

} // namespace gdt::runtime
