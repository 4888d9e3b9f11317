// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 for the self check: every call that it makes succeeds and does nothing, but the one that
// GD_REFUSED names, which gives 999.
#include "cli/self_check/cuda_job.h"

#include <cstdlib>
#include <cstring>

namespace {

int answer(const char* call, void* first) {
    const char* refused = std::getenv("GD_REFUSED");
    if (refused != nullptr && std::strcmp(refused, call) == 0) {
        return CUDA_ERROR_UNKNOWN;
    }
    if (std::strcmp(call, "cuDeviceGetCount") == 0) {
        *static_cast<int*>(first) = 1;
    }
    return CUDA_SUCCESS;
}

} // namespace

#define GD_TEXT(name) #name
#define GD_NAME(name) GD_TEXT(name) // the name after cuda.h's macros: cuMemAlloc_v2
#define X(member, name)                                                                                      \
    extern "C" __attribute__((visibility("default"))) int member##Answer(void* first) asm(GD_NAME(name));    \
    int member##Answer(void* first) {                                                                        \
        return answer(GD_NAME(name), first);                                                                 \
    }
GD_SELF_CHECK_CALLS(X)
#undef X
