// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph.h"

#include "runtime/backend.h"
#include "runtime/host_pace.h"

namespace gdt::runtime {

Graph::~Graph() {
    static_cast<void>(destroy());
}

Graph& Graph::operator=(Graph&& other) noexcept {
    if (this != &other)
        adopt(std::move(other.m_backend));
    return *this;
}

void Graph::adopt(std::shared_ptr<backend::Graph> graph) {
    static_cast<void>(destroy());
    m_backend = std::move(graph);
}

Status Graph::instantiate(GraphExec& exec, InstantiateFlags flags) const {
    if (m_backend == nullptr)
        return Status::InvalidHandle;
    std::shared_ptr<backend::Exec> created;
    const Status status = m_backend->instantiate(flags, created);
    if (ok(status))
        exec.adopt(std::move(created));
    return status;
}

Status Graph::destroy() {
    if (m_backend == nullptr)
        return Status::InvalidHandle;
    const Status status = m_backend->destroy();
    m_backend.reset();
    return status;
}

std::uint64_t Graph::id() const {
    return m_backend != nullptr ? m_backend->id() : 0;
}

std::size_t Graph::nodeCount() const {
    return m_backend != nullptr ? m_backend->nodeCount() : 0;
}

NodeView Graph::node(std::size_t index) const {
    return m_backend != nullptr ? m_backend->node(index) : NodeView{};
}

GraphExec::~GraphExec() {
    static_cast<void>(destroy());
}

GraphExec& GraphExec::operator=(GraphExec&& other) noexcept {
    if (this != &other)
        adopt(std::move(other.m_backend));
    return *this;
}

void GraphExec::adopt(std::shared_ptr<backend::Exec> exec) {
    static_cast<void>(destroy());
    m_backend = std::move(exec);
}

Status GraphExec::launch(Stream& stream) {
    payHostPace();
    if (m_backend == nullptr || stream.backend() == nullptr)
        return Status::InvalidHandle;
    return m_backend->launch(*stream.backend());
}

Status GraphExec::update(const Graph& graph, UpdateResult* result) {
    if (m_backend == nullptr || !graph.valid())
        return Status::InvalidHandle;
    return m_backend->update(*graph.backend(), result);
}

Status GraphExec::destroy() {
    if (m_backend == nullptr)
        return Status::InvalidHandle;
    const Status status = m_backend->destroy();
    if (ok(status))
        m_backend.reset();
    return status;
}

std::uint64_t GraphExec::id() const {
    return m_backend != nullptr ? m_backend->id() : 0;
}

std::size_t GraphExec::nodeCount() const {
    return m_backend != nullptr ? m_backend->nodeCount() : 0;
}

} // namespace gdt::runtime
