// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace gdt::runtime {

/// Result of every runtime call. The numbers are CUDA's CUresult values (cuda.h of CUDA 13.0), so that a
/// trace of the host runtime and one of a GPU read the same.
enum class [[nodiscard]] Status : std::int32_t{
    Success = 0,
    InvalidValue = 1,
    OutOfMemory = 2,
    NoDevice = 100,
    InvalidDevice = 101,
    NoBinaryForGpu = 209,
    InvalidHandle = 400,
    IllegalState = 401,
    NotReady = 600,
    IllegalAddress = 700,
    LaunchFailed = 719,
    NotPermitted = 800,
    NotSupported = 801,
    CaptureUnsupported = 900,
    CaptureInvalidated = 901,
    CaptureMerge = 902,
    CaptureUnmatched = 903,
    CaptureUnjoined = 904,
    CaptureIsolation = 905,
    CaptureImplicit = 906,
    CapturedEvent = 907,
    CaptureWrongThread = 908,
    Timeout = 909,
    GraphExecUpdateFailure = 910,
};

[[nodiscard]] constexpr bool ok(Status status) {
    return status == Status::Success;
}

/// Name as in cuda.h, for example "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED".
[[nodiscard]] const char* statusName(Status status);

/// One sentence on what the code means.
[[nodiscard]] const char* statusText(Status status);

/// Where a failing call was seen first by GDT_TRY or GDT_REPORT on this thread. The strings are literals.
struct Failure {
    Status status = Status::Success;
    const char* expression = "";
    const char* file = "";
    int line = 0;
};

/// The innermost failure of this thread since clearFailure(); status is Success when there was none.
[[nodiscard]] const Failure& lastFailure();
void clearFailure();

/// Keeps the first failure until clearFailure() and returns its argument.
Status noteFailure(Status status, const char* expression, const char* file, int line);

/// Prints the failure to stderr and aborts: for calls whose failure is a bug of the caller.
[[noreturn]] void abortOnFailure(Status status, const char* expression, const char* file, int line);

} // namespace gdt::runtime

/// Leaves the enclosing function, which returns Status, when `expression` fails.
#define GDT_TRY(expression)                                                                                  \
    do {                                                                                                     \
        const ::gdt::runtime::Status gdtStatus_ = (expression);                                              \
        if (!::gdt::runtime::ok(gdtStatus_)) [[unlikely]]                                                    \
            return ::gdt::runtime::noteFailure(gdtStatus_, #expression, __FILE__, __LINE__);                 \
    } while (false)

/// Aborts with file and line when `expression` fails.
#define GDT_CHECK(expression)                                                                                \
    do {                                                                                                     \
        const ::gdt::runtime::Status gdtStatus_ = (expression);                                              \
        if (!::gdt::runtime::ok(gdtStatus_)) [[unlikely]]                                                    \
            ::gdt::runtime::abortOnFailure(gdtStatus_, #expression, __FILE__, __LINE__);                     \
    } while (false)
