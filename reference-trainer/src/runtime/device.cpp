// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.h"

#include "runtime/backend.h"
#include "runtime/cuda_backend.h"
#include "runtime/stream.h"

#include <utility>

namespace gdt::runtime {

int deviceCount(Backend backend) {
    return backend == Backend::Cuda ? cuda::deviceCount() : 1;
}

std::string backendProblem(Backend backend, int ordinal) {
    return backend == Backend::Cuda ? cuda::problem(ordinal) : std::string();
}

namespace {

std::shared_ptr<backend::Device> makeDevice(const DeviceOptions& options) {
    const bool onGpu = options.backend == Backend::Cuda;
    backend::useProcessCalls(onGpu ? cuda::processCalls() : host::processCalls());
    return onGpu ? cuda::makeDevice(options) : host::makeDevice(options);
}

} // namespace

Device::Device(const DeviceOptions& options)
    : m_backend(makeDevice(options))
    , m_defaultStream(std::make_unique<Stream>()) {
    m_defaultStream->m_backend = m_backend->legacyStream();
}

Device::~Device() {
    if (m_backend != nullptr)
        m_backend->close();
}

Device& Device::operator=(Device&& other) noexcept {
    if (this != &other) {
        if (m_backend != nullptr)
            m_backend->close();
        m_defaultStream = std::move(other.m_defaultStream);
        m_backend = std::exchange(other.m_backend, nullptr);
    }
    return *this;
}

Status Device::allocate(void** pointer, std::size_t bytes) {
    return m_backend->allocate(pointer, bytes);
}

Status Device::release(void* pointer) {
    return m_backend->release(pointer);
}

Status Device::allocateHost(void** pointer, std::size_t bytes) {
    return m_backend->allocateHost(pointer, bytes);
}

Status Device::releaseHost(void* pointer) {
    return m_backend->releaseHost(pointer);
}

Status Device::copy(void* destination, const void* source, std::size_t bytes, CopyKind kind) {
    return m_backend->copy(destination, source, bytes, kind);
}

Status Device::fill(void* destination, int value, std::size_t bytes) {
    return m_backend->fill(destination, value, bytes);
}

Status Device::synchronize() {
    return m_backend->synchronize();
}

Status Device::memoryInfo(std::size_t* freeBytes, std::size_t* totalBytes) {
    return m_backend->memoryInfo(freeBytes, totalBytes);
}

std::size_t Device::ownBytes() const {
    return m_backend->ownBytes();
}

double Device::peakRate(std::size_t elementBytes) const {
    return m_backend->peakRate(elementBytes);
}

Stream& Device::defaultStream() {
    return *m_defaultStream;
}

int Device::ordinal() const {
    return m_backend->ordinal();
}

Status Device::stickyError() const {
    return m_backend->stickyError();
}

} // namespace gdt::runtime
