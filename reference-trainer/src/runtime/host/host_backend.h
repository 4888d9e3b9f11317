// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/backend.h"
#include "runtime/host/states.h"

#include <utility>

// The host backend's objects: each holds its state, which queued work may keep alive for longer.
namespace gdt::runtime::host {

/// An event of the host backend.
class HostEvent final : public backend::Event {
public:
    explicit HostEvent(std::shared_ptr<EventState> state)
        : m_state(std::move(state)) { }
    Status destroy() override;
    Status query() override;
    Status synchronize() override;
    Status elapsedNs(backend::Event& end, std::int64_t* ns) override;

    [[nodiscard]] const std::shared_ptr<EventState>& state() const { return m_state; }

private:
    std::shared_ptr<EventState> m_state;
};

/// A captured graph of the host backend. Its id is never used again.
class HostGraph final : public backend::Graph {
public:
    explicit HostGraph(std::shared_ptr<GraphState> state)
        : m_state(std::move(state)) { }
    Status destroy() override;
    Status instantiate(InstantiateFlags flags, std::shared_ptr<backend::Exec>& exec) override;
    [[nodiscard]] std::uint64_t id() const override { return m_state->id; }
    [[nodiscard]] std::size_t nodeCount() const override { return m_state->nodes.size(); }
    [[nodiscard]] NodeView node(std::size_t index) const override;

    [[nodiscard]] const GraphState& state() const { return *m_state; }

private:
    std::shared_ptr<GraphState> m_state;
};

/// An executable of the host backend, likewise.
class HostExec final : public backend::Exec {
public:
    explicit HostExec(std::shared_ptr<ExecState> state)
        : m_state(std::move(state)) { }
    Status launch(backend::Stream& stream) override;
    Status update(backend::Graph& graph, UpdateResult* result) override;
    Status destroy() override;
    [[nodiscard]] std::uint64_t id() const override { return m_state->id; }
    [[nodiscard]] std::size_t nodeCount() const override { return m_state->body->nodes.size(); }

private:
    std::shared_ptr<ExecState> m_state;
};

/// A queue of work in order, run by a worker thread of its own or by the thread that waits.
class HostStream final : public backend::Stream {
public:
    explicit HostStream(std::shared_ptr<StreamState> state)
        : m_state(std::move(state)) { }
    Status destroy() override;
    Status launchKernel(const KernelInfo& kernel, const Grid& grid, const void* arguments) override;
    Status memcpyAsync(void* destination, const void* source, std::size_t bytes, CopyKind kind) override;
    Status memsetAsync(void* destination, int value, std::size_t bytes) override;
    Status hostFunction(HostFunction function, void* userData) override;
    Status enqueueComm(const CommCall& call) override;
    Status record(backend::Event& event, RecordFlags flags) override;
    Status wait(backend::Event& event, WaitFlags flags) override;
    Status query() override;
    Status synchronize() override;
    Status allocateAsync(void** pointer, std::size_t bytes) override;
    Status releaseAsync(void* pointer) override;
    Status beginCapture(CaptureMode mode) override;
    Status endCapture(std::shared_ptr<backend::Graph>& graph) override;
    Status captureInfo(CaptureInfo* info) override;
    [[nodiscard]] bool capturing() override;
    [[nodiscard]] std::uint64_t id() const override { return m_state->id; }
    [[nodiscard]] void* native() const override { return nullptr; }

    [[nodiscard]] StreamState& state() const { return *m_state; }

private:
    std::shared_ptr<StreamState> m_state;
};

/// A device whose memory is the host's and whose kernels run on CPU threads.
class HostDevice final : public backend::Device {
public:
    explicit HostDevice(const DeviceOptions& options);
    void close() override;
    Status allocate(void** pointer, std::size_t bytes) override;
    Status release(void* pointer) override;
    Status allocateHost(void** pointer, std::size_t bytes) override;
    Status releaseHost(void* pointer) override;
    Status copy(void* destination, const void* source, std::size_t bytes, CopyKind kind) override;
    Status fill(void* destination, int value, std::size_t bytes) override;
    Status synchronize() override;
    Status memoryInfo(std::size_t* freeBytes, std::size_t* totalBytes) override;
    [[nodiscard]] std::shared_ptr<backend::Stream> legacyStream() override {
        return std::make_shared<HostStream>(m_legacy);
    }
    Status createStream(StreamFlags flags, std::shared_ptr<backend::Stream>& stream) override;
    Status createEvent(EventFlags flags, std::shared_ptr<backend::Event>& event) override;
    [[nodiscard]] int ordinal() const override { return m_state->options.ordinal; }
    [[nodiscard]] Status stickyError() const override { return m_state->sticky(); }
    [[nodiscard]] std::size_t ownBytes() const override { return 0; }
    [[nodiscard]] double peakRate(std::size_t) const override { return 0; }
    void notePoolBlock(const backend::PoolBlock& block) override;

private:
    std::shared_ptr<DeviceState> m_state;
    std::shared_ptr<StreamState> m_legacy;
};

} // namespace gdt::runtime::host
