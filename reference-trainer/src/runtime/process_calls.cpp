// SPDX-License-Identifier: Apache-2.0
// Calls without a device: capture mode of a thread, ranges.
#include "runtime/backend.h"
#include "runtime/range.h"

#include <atomic>

namespace gdt::runtime {

namespace backend {

namespace {
std::atomic<const ProcessCalls*>& current() {
    static std::atomic<const ProcessCalls*> calls{&host::processCalls()};
    return calls;
}
} // namespace

void useProcessCalls(const ProcessCalls& calls) {
    current().store(&calls, std::memory_order_relaxed);
}

const ProcessCalls& processCalls() {
    return *current().load(std::memory_order_relaxed);
}

} // namespace backend

Status exchangeThreadCaptureMode(CaptureMode* mode) {
    return backend::processCalls().exchangeThreadCaptureMode(mode);
}

void rangePush(const char* name, std::uint64_t payload, const char* domain) {
    backend::processCalls().rangePush(name, payload, domain);
}

void rangePop(const char* domain) {
    backend::processCalls().rangePop(domain);
}

void rangeMark(const char* name, std::uint64_t payload, const char* domain) {
    backend::processCalls().rangeMark(name, payload, domain);
}

} // namespace gdt::runtime
