// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_stream.h"

#include "runtime/cuda/cuda_event.h"
#include "runtime/cuda/cuda_graph.h"

#include <cstdio>

namespace gdt::runtime::cuda {

void* StreamWorkspace::memory() {
    std::lock_guard lock(m_mutex);
    if (m_memory == nullptr)
        m_memory = m_device.keep(kBytes);
    return m_memory;
}

CudaStream::CudaStream(std::shared_ptr<DeviceState> device, cudaStream_t handle)
    : m_device(std::move(device))
    , m_handle(handle)
    , m_workspace(*m_device) { }

Status CudaStream::destroy() {
    const WatchedCall call = m_device->enter("cuStreamDestroy");
    return m_handle == cudaStreamLegacy ? Status::Success : statusOf(cudaStreamDestroy(m_handle));
}

Status CudaStream::launchKernel(const KernelInfo& kernel, const Grid&, const void* arguments) {
    const WatchedCall call = m_device->enter("cuLaunchKernel");
    const auto* launcher = static_cast<const Launcher*>(kernel.launcher.load(std::memory_order_relaxed));
    if (launcher == nullptr) {
        launcher = findLauncher(kernel.name);
        if (launcher == nullptr) {
            std::fprintf(stderr, "the kernel %s has no CUDA version\n", kernel.name);
            return Status::NotSupported;
        }
        kernel.launcher.store(launcher, std::memory_order_relaxed);
    }
    LaunchContext context{m_handle, m_workspace, m_device->multiprocessors(), m_device->tf32()};
    return statusOf(launcher->launch(arguments, context));
}

Status CudaStream::memcpyAsync(void* destination, const void* source, std::size_t bytes, CopyKind kind) {
    const WatchedCall call = m_device->enter("cuMemcpyAsync");
    return statusOf(cudaMemcpyAsync(destination, source, bytes, static_cast<cudaMemcpyKind>(kind), m_handle));
}

Status CudaStream::memsetAsync(void* destination, int value, std::size_t bytes) {
    const WatchedCall call = m_device->enter("cuMemsetD8Async");
    return statusOf(cudaMemsetAsync(destination, value, bytes, m_handle));
}

Status CudaStream::hostFunction(HostFunction function, void* userData) {
    const WatchedCall call = m_device->enter("cuLaunchHostFunc");
    return function == nullptr ? Status::InvalidValue
                               : statusOf(cudaLaunchHostFunc(m_handle, function, userData));
}

Status CudaStream::record(backend::Event& event, RecordFlags flags) {
    const WatchedCall call = m_device->enter("cuEventRecord");
    const cudaEvent_t handle = static_cast<CudaEvent&>(event).handle();
    if (flags == RecordFlags::External)
        return statusOf(cudaEventRecordWithFlags(handle, m_handle, cudaEventRecordExternal));
    return statusOf(cudaEventRecord(handle, m_handle));
}

Status CudaStream::wait(backend::Event& event, WaitFlags flags) {
    const WatchedCall call = m_device->enter("cuStreamWaitEvent");
    const unsigned external = flags == WaitFlags::External ? cudaEventWaitExternal : cudaEventWaitDefault;
    return statusOf(cudaStreamWaitEvent(m_handle, static_cast<CudaEvent&>(event).handle(), external));
}

Status CudaStream::query() {
    const WatchedCall call = m_device->enter("cuStreamQuery");
    return statusOf(cudaStreamQuery(m_handle));
}

Status CudaStream::synchronize() {
    const WatchedCall call = m_device->enter("cuStreamSynchronize");
    return statusOf(cudaStreamSynchronize(m_handle));
}

Status CudaStream::allocateAsync(void** pointer, std::size_t bytes) {
    const WatchedCall call = m_device->enter("cuMemAllocAsync");
    return statusOf(cudaMallocAsync(pointer, bytes, m_handle));
}

Status CudaStream::releaseAsync(void* pointer) {
    const WatchedCall call = m_device->enter("cuMemFreeAsync");
    return statusOf(cudaFreeAsync(pointer, m_handle));
}

Status CudaStream::beginCapture(CaptureMode mode) {
    const WatchedCall call = m_device->enter("cuStreamBeginCapture");
    return statusOf(cudaStreamBeginCapture(m_handle, static_cast<cudaStreamCaptureMode>(mode)));
}

Status CudaStream::endCapture(std::shared_ptr<backend::Graph>& graph) {
    const WatchedCall call = m_device->enter("cuStreamEndCapture");
    cudaGraph_t handle = nullptr;
    const Status status = statusOf(cudaStreamEndCapture(m_handle, &handle));
    if (ok(status) && handle != nullptr)
        graph = std::make_shared<CudaGraph>(m_device, handle);
    return status;
}

Status CudaStream::captureInfo(CaptureInfo* info) {
    m_device->activate();
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    cudaGraph_t graph = nullptr;
#if CUDART_VERSION >= 13000
    GDT_TRY(statusOf(cudaStreamGetCaptureInfo(m_handle, &status, &id, &graph, nullptr, nullptr, nullptr)));
#else
    GDT_TRY(statusOf(cudaStreamGetCaptureInfo_v2(m_handle, &status, &id, &graph, nullptr, nullptr)));
#endif
    *info = {static_cast<CaptureStatus>(status), id, 0};
    if (status == cudaStreamCaptureStatusActive)
        return statusOf(cudaGraphGetNodes(graph, nullptr, &info->nodeCount));
    return Status::Success;
}

bool CudaStream::capturing() {
    m_device->activate();
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    return ok(statusOf(cudaStreamIsCapturing(m_handle, &status))) && status != cudaStreamCaptureStatusNone;
}

} // namespace gdt::runtime::cuda
