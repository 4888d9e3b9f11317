// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream.h"

#include "runtime/backend.h"
#include "runtime/host_pace.h"

namespace gdt::runtime {

Status Stream::create(Device& device, Stream& stream, StreamFlags flags) {
    Stream created;
    const Status status = device.backend()->createStream(flags, created.m_backend);
    if (ok(status))
        stream = std::move(created);
    return status;
}

Stream::~Stream() {
    static_cast<void>(destroy());
}

Stream& Stream::operator=(Stream&& other) noexcept {
    if (this != &other) {
        static_cast<void>(destroy());
        m_backend = std::move(other.m_backend);
    }
    return *this;
}

Status Stream::destroy() {
    if (m_backend == nullptr)
        return Status::InvalidHandle;
    const Status status = m_backend->destroy();
    m_backend.reset();
    return status;
}

Status Stream::launchKernel(const KernelInfo& kernel, const Grid& grid, const void* arguments) {
    payHostPace();
    return m_backend != nullptr ? m_backend->launchKernel(kernel, grid, arguments) : Status::InvalidHandle;
}

Status Stream::memcpyAsync(void* destination, const void* source, std::size_t bytes, CopyKind kind) {
    payHostPace();
    return m_backend != nullptr ? m_backend->memcpyAsync(destination, source, bytes, kind)
                                : Status::InvalidHandle;
}

Status Stream::memsetAsync(void* destination, int value, std::size_t bytes) {
    payHostPace();
    return m_backend != nullptr ? m_backend->memsetAsync(destination, value, bytes) : Status::InvalidHandle;
}

Status Stream::hostFunction(HostFunction function, void* userData) {
    return m_backend != nullptr ? m_backend->hostFunction(function, userData) : Status::InvalidHandle;
}

Status Stream::enqueueComm(const CommCall& call) {
    payHostPace();
    return m_backend != nullptr ? m_backend->enqueueComm(call) : Status::InvalidHandle;
}

Status Stream::record(Event& event, RecordFlags flags) {
    if (m_backend == nullptr || event.backend() == nullptr)
        return Status::InvalidHandle;
    return m_backend->record(*event.backend(), flags);
}

Status Stream::wait(const Event& event, WaitFlags flags) {
    if (m_backend == nullptr || event.backend() == nullptr)
        return Status::InvalidHandle;
    return m_backend->wait(*event.backend(), flags);
}

Status Stream::query() {
    return m_backend != nullptr ? m_backend->query() : Status::InvalidHandle;
}

Status Stream::synchronize() {
    return m_backend != nullptr ? m_backend->synchronize() : Status::InvalidHandle;
}

Status Stream::allocateAsync(void** pointer, std::size_t bytes) {
    return m_backend != nullptr ? m_backend->allocateAsync(pointer, bytes) : Status::InvalidHandle;
}

Status Stream::releaseAsync(void* pointer) {
    return m_backend != nullptr ? m_backend->releaseAsync(pointer) : Status::InvalidHandle;
}

Status Stream::beginCapture(CaptureMode mode) {
    return m_backend != nullptr ? m_backend->beginCapture(mode) : Status::InvalidHandle;
}

Status Stream::endCapture(Graph& graph) {
    if (m_backend == nullptr)
        return Status::InvalidHandle;
    std::shared_ptr<backend::Graph> captured;
    const Status status = m_backend->endCapture(captured);
    graph.adopt(std::move(captured));
    return status;
}

Status Stream::captureInfo(CaptureInfo* info) const {
    return m_backend != nullptr && info != nullptr ? m_backend->captureInfo(info) : Status::InvalidHandle;
}

bool Stream::capturing() const {
    return m_backend != nullptr && m_backend->capturing();
}

std::uint64_t Stream::id() const {
    return m_backend != nullptr ? m_backend->id() : 0;
}

void* Stream::native() const {
    return m_backend != nullptr ? m_backend->native() : nullptr;
}

} // namespace gdt::runtime
