// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_device.h"

#include "runtime/cuda/cuda_event.h"
#include "runtime/cuda/cuda_stream.h"
#include "runtime/cuda_backend.h"

#include <cstring>

namespace gdt::runtime::cuda {

namespace {
thread_local int t_ordinal = -1;
} // namespace

int deviceCount() {
    int devices = 0;
    return ok(statusOf(cudaGetDeviceCount(&devices))) ? devices : 0;
}

std::string problem(int ordinal) {
    int devices = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        int driver = 0;
        const bool none = cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0;
        return std::string("no GPU can be used: ") + (none ? "there is no NVIDIA driver" : textOf(error));
    }
    if (ordinal >= devices)
        return "GPU " + std::to_string(ordinal) + " does not exist, there are " + std::to_string(devices);
    cudaFuncAttributes attributes{};
    cudaError_t error = cudaSetDevice(ordinal);
    t_ordinal = -1;
    if (error == cudaSuccess)
        error = cudaFuncGetAttributes(&attributes, anyKernel());
    if (error == cudaSuccess)
        return {};
    static_cast<void>(cudaGetLastError());
    return "GPU " + std::to_string(ordinal) + " cannot be used: " + textOf(error);
}

Versions versions() {
    Versions found;
    found.built = CUDART_VERSION;
    static_cast<void>(cudaRuntimeGetVersion(&found.runtime));
    return found;
}

std::shared_ptr<backend::Device> makeDevice(const DeviceOptions& options) {
    return std::make_shared<CudaDevice>(options);
}

DeviceState::DeviceState(const DeviceOptions& options)
    : m_ordinal(options.ordinal)
    , m_tf32(options.tf32) {
    activate();
    static_cast<void>(
        statusOf(cudaDeviceGetAttribute(&m_multiprocessors, cudaDevAttrMultiProcessorCount, m_ordinal)));
}

DeviceState::~DeviceState() {
    const WatchedCall call = enter("cuMemFree");
    for (void* memory : m_kept)
        static_cast<void>(statusOf(cudaFree(memory)));
}

void DeviceState::activate() const {
    if (t_ordinal == m_ordinal)
        return;
    if (ok(statusOf(cudaSetDevice(m_ordinal))))
        t_ordinal = m_ordinal;
}

std::size_t DeviceState::keptBytes() {
    std::lock_guard lock(m_mutex);
    return m_keptBytes;
}

void* DeviceState::keep(std::size_t bytes) {
    activate();
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    static_cast<void>(statusOf(cudaThreadExchangeStreamCaptureMode(&mode)));
    void* memory = nullptr;
    const Status status = statusOf(cudaMalloc(&memory, bytes));
    static_cast<void>(statusOf(cudaThreadExchangeStreamCaptureMode(&mode)));
    if (!ok(status))
        return nullptr;
    std::lock_guard lock(m_mutex);
    m_kept.push_back(memory);
    m_keptBytes += bytes;
    return memory;
}

CudaDevice::CudaDevice(const DeviceOptions& options)
    : m_state(std::make_shared<DeviceState>(options)) { }

void CudaDevice::close() {
    const WatchedCall call = m_state->enter("cuCtxSynchronize");
    static_cast<void>(statusOf(cudaDeviceSynchronize()));
}

Status CudaDevice::allocate(void** pointer, std::size_t bytes) {
    const WatchedCall call = m_state->enter("cuMemAlloc");
    return statusOf(cudaMalloc(pointer, bytes));
}

Status CudaDevice::release(void* pointer) {
    const WatchedCall call = m_state->enter("cuMemFree");
    return statusOf(cudaFree(pointer));
}

Status CudaDevice::allocateHost(void** pointer, std::size_t bytes) {
    const WatchedCall call = m_state->enter("cuMemAllocHost");
    if (bytes == 0)
        return Status::InvalidValue;
    return statusOf(cudaMallocHost(pointer, bytes));
}

Status CudaDevice::releaseHost(void* pointer) {
    const WatchedCall call = m_state->enter("cuMemFreeHost");
    return pointer == nullptr ? Status::Success : statusOf(cudaFreeHost(pointer));
}

Status CudaDevice::copy(void* destination, const void* source, std::size_t bytes, CopyKind kind) {
    const WatchedCall call = m_state->enter("cuMemcpy");
    GDT_TRY(statusOf(cudaMemcpy(destination, source, bytes, static_cast<cudaMemcpyKind>(kind))));
    // From pageable memory the library may return when the bytes are staged, from device memory before they
    // are copied; a non-blocking stream would not wait for either.
    return kind == CopyKind::DeviceToHost ? Status::Success
                                          : statusOf(cudaStreamSynchronize(cudaStreamLegacy));
}

Status CudaDevice::fill(void* destination, int value, std::size_t bytes) {
    const WatchedCall call = m_state->enter("cuMemsetD8");
    GDT_TRY(statusOf(cudaMemset(destination, value, bytes)));
    // The library may return before the memory is set, and a non-blocking stream would not wait for it.
    return statusOf(cudaStreamSynchronize(cudaStreamLegacy));
}

Status CudaDevice::synchronize() {
    const WatchedCall call = m_state->enter("cuCtxSynchronize");
    return statusOf(cudaDeviceSynchronize());
}

Status CudaDevice::memoryInfo(std::size_t* freeBytes, std::size_t* totalBytes) {
    const WatchedCall call = m_state->enter("cuMemGetInfo");
    return statusOf(cudaMemGetInfo(freeBytes, totalBytes));
}

std::shared_ptr<backend::Stream> CudaDevice::legacyStream() {
    return std::make_shared<CudaStream>(m_state, cudaStreamLegacy);
}

Status CudaDevice::createStream(StreamFlags flags, std::shared_ptr<backend::Stream>& stream) {
    const WatchedCall call = m_state->enter("cuStreamCreate");
    cudaStream_t handle = nullptr;
    const unsigned mode = flags == StreamFlags::NonBlocking ? cudaStreamNonBlocking : cudaStreamDefault;
    GDT_TRY(statusOf(cudaStreamCreateWithFlags(&handle, mode)));
    stream = std::make_shared<CudaStream>(m_state, handle);
    return Status::Success;
}

Status CudaDevice::createEvent(EventFlags flags, std::shared_ptr<backend::Event>& event) {
    m_state->activate();
    cudaEvent_t handle = nullptr;
    const unsigned mode = flags == EventFlags::DisableTiming ? cudaEventDisableTiming : cudaEventDefault;
    GDT_TRY(statusOf(cudaEventCreateWithFlags(&handle, mode)));
    event = std::make_shared<CudaEvent>(m_state, handle);
    return Status::Success;
}

Status CudaDevice::stickyError() const {
    // An error that sticks is returned by every call; this one has no other effect and no capture forbids it.
    m_state->activate();
    cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
    GDT_TRY(statusOf(cudaThreadExchangeStreamCaptureMode(&mode)));
    return statusOf(cudaThreadExchangeStreamCaptureMode(&mode));
}

namespace {

// Dense rates in TFLOP/s from NVIDIA's data sheets (sparsity left out). bf16, TF32 and fp64 are those of the
// tensor cores, fp32 that of the ordinary units, which our fp32 products use.
struct PeakRates {
    const char* name; // part of the device's name
    double fp8, bf16, tf32, fp32, fp64; // 0: the GPU cannot multiply it
};
constexpr PeakRates kPeakRates[] = {
    {"H200", 1979, 989, 494.5, 67, 67},
    {"H100 80GB HBM3", 1979, 989, 494.5, 67, 67},
    {"H100 PCIe", 1513, 756, 378, 51, 51},
    {"A100", 0, 312, 156, 19.5, 19.5},
};

} // namespace

double CudaDevice::peakRate(std::size_t elementBytes) const {
    cudaDeviceProp properties{};
    if (!ok(statusOf(cudaGetDeviceProperties(&properties, m_state->ordinal()))))
        return 0;
    for (const PeakRates& rates : kPeakRates) {
        if (std::strstr(properties.name, rates.name) == nullptr)
            continue;
        const double wide = elementBytes == 8 ? rates.fp64 : m_state->tf32() ? rates.tf32 : rates.fp32;
        return 1e12 * (elementBytes == 1 ? rates.fp8 : elementBytes == 2 ? rates.bf16 : wide);
    }
    return 0;
}

} // namespace gdt::runtime::cuda
