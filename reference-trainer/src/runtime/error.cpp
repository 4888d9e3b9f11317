// SPDX-License-Identifier: Apache-2.0
#include "runtime/error.h"

#include <cstdio>
#include <cstdlib>

namespace gdt::runtime {

namespace {

struct StatusEntry {
    Status status;
    const char* name;
    const char* text;
};

constexpr StatusEntry kStatusTable[] = {
    {Status::Success, "CUDA_SUCCESS", "no error"},
    {Status::InvalidValue, "CUDA_ERROR_INVALID_VALUE", "an argument is outside what the call accepts"},
    {Status::OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "no gap of the device's memory is large enough"},
    {Status::NoDevice, "CUDA_ERROR_NO_DEVICE", "there is no GPU, or no driver for it"},
    {Status::InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "the GPU does not exist"},
    {Status::NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU",
        "this program was not built for this kind of GPU"},
    {Status::InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "the object does not exist"},
    {Status::IllegalState, "CUDA_ERROR_ILLEGAL_STATE", "the object is not in a state that allows the call"},
    {Status::NotReady, "CUDA_ERROR_NOT_READY", "the work has not finished yet"},
    {Status::IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "device work used memory that is not allocated"},
    {Status::LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "device work failed while it ran"},
    {Status::NotPermitted, "CUDA_ERROR_NOT_PERMITTED",
        "the call is not allowed here, for example in a host function"},
    {Status::NotSupported, "CUDA_ERROR_NOT_SUPPORTED", "this backend does not offer the call"},
    {Status::CaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
        "the call is not permitted while a stream is capturing"},
    {Status::CaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        "the capture was invalidated by an earlier error"},
    {Status::CaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "the call would have merged two captures"},
    {Status::CaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED",
        "the capture was not begun on this stream"},
    {Status::CaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED",
        "a stream forked from the capture was not joined to the stream that began it"},
    {Status::CaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION",
        "captured work would depend on work outside the capture"},
    {Status::CaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
        "the legacy default stream would depend on a capturing blocking stream"},
    {Status::CapturedEvent, "CUDA_ERROR_CAPTURED_EVENT", "the event was last recorded inside a capture"},
    {Status::CaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
        "a capture that is not relaxed must end in the thread that began it"},
    {Status::Timeout, "CUDA_ERROR_TIMEOUT", "the time limit passed"},
    {Status::GraphExecUpdateFailure, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
        "the graph differs from the executable graph in more than its arguments"},
};

const StatusEntry* find(Status status) {
    for (const StatusEntry& entry : kStatusTable) {
        if (entry.status == status)
            return &entry;
    }
    return nullptr;
}

thread_local Failure t_failure;

} // namespace

const char* statusName(Status status) {
    const StatusEntry* entry = find(status);
    return entry != nullptr ? entry->name : "unknown status";
}

const char* statusText(Status status) {
    const StatusEntry* entry = find(status);
    return entry != nullptr ? entry->text : "unknown status";
}

const Failure& lastFailure() {
    return t_failure;
}

void clearFailure() {
    t_failure = {};
}

Status noteFailure(Status status, const char* expression, const char* file, int line) {
    if (t_failure.status == Status::Success)
        t_failure = {status, expression, file, line};
    return status;
}

void abortOnFailure(Status status, const char* expression, const char* file, int line) {
    std::fprintf(stderr, "%s:%d: %s failed with %d %s: %s\n", file, line, expression,
        static_cast<int>(status), statusName(status), statusText(status));
    std::abort();
}

} // namespace gdt::runtime
