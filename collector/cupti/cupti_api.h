// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <string>
#include <type_traits>

namespace gd::cupti {

#define GD_CUPTI_FUNCTIONS(X)                                                                                \
    X(getVersion, "cuptiGetVersion", CUptiResult(std::uint32_t*))                                            \
    X(subscribe, "cuptiSubscribe", CUptiResult(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*))          \
    X(subscribeV2, "cuptiSubscribe_v2",                                                                      \
        CUptiResult(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, CUpti_SubscriberParams*))            \
    X(unsubscribe, "cuptiUnsubscribe", CUptiResult(CUpti_SubscriberHandle))                                  \
    X(enableCallback, "cuptiEnableCallback",                                                                 \
        CUptiResult(std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId))          \
    X(getResultString, "cuptiGetResultString", CUptiResult(CUptiResult, const char**))                       \
    X(getDeviceId, "cuptiGetDeviceId", CUptiResult(CUcontext, std::uint32_t*))                               \
    X(getStreamIdEx, "cuptiGetStreamIdEx", CUptiResult(CUcontext, CUstream, std::uint8_t, std::uint32_t*))   \
    X(getGraphId, "cuptiGetGraphId", CUptiResult(CUgraph, std::uint32_t*))                                   \
    X(getGraphExecId, "cuptiGetGraphExecId", CUptiResult(CUgraphExec, std::uint32_t*))                       \
    X(getGraphNodeId, "cuptiGetGraphNodeId", CUptiResult(CUgraphNode, std::uint64_t*))                       \
    X(getContextId, "cuptiGetContextId", CUptiResult(CUcontext, std::uint32_t*))                             \
    X(activityEnable, "cuptiActivityEnable", CUptiResult(CUpti_ActivityKind))                                \
    X(activityDisable, "cuptiActivityDisable", CUptiResult(CUpti_ActivityKind))                              \
    X(activityRegisterCallbacks, "cuptiActivityRegisterCallbacks",                                           \
        CUptiResult(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc))                    \
    X(activityRegisterTimestampCallback, "cuptiActivityRegisterTimestampCallback",                           \
        CUptiResult(CUpti_TimestampCallbackFunc))                                                            \
    X(activityGetNextRecord, "cuptiActivityGetNextRecord",                                                   \
        CUptiResult(std::uint8_t*, std::size_t, CUpti_Activity**))                                           \
    X(activityGetNumDroppedRecords, "cuptiActivityGetNumDroppedRecords",                                     \
        CUptiResult(CUcontext, std::uint32_t, std::size_t*))                                                 \
    X(activitySetAttribute, "cuptiActivitySetAttribute",                                                     \
        CUptiResult(CUpti_ActivityAttribute, std::size_t*, void*))                                           \
    X(activityFlushAll, "cuptiActivityFlushAll", CUptiResult(std::uint32_t))

/// Functions of the one libcupti this process uses, looked up by name. Null where a version lacks one.
struct CuptiApi {
#define GD_CUPTI_MEMBER(member, name, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
    GD_CUPTI_FUNCTIONS(GD_CUPTI_MEMBER)
#undef GD_CUPTI_MEMBER
    std::string path; ///< where it was loaded from
};

/// The loaded table; all null before loadCuptiApi() succeeded.
const CuptiApi& cuptiApi() noexcept;

/// Loads libcupti: the one GRAPHDOCTOR_CUPTI names (tests); else one already mapped whose major version is
/// `major`; else the one beside the CUDA libraries the job has mapped; else by name; else the toolkit's.
/// Copies inside Triton's package are never chosen: it brings one of another version for its own use. False:
/// none found or too old; `why` is one sentence then. Call once.
bool loadCuptiApi(int major, std::string& why);

/// Major CUDA version of the runtime library that is mapped, 0 = none (static runtime).
int loadedRuntimeMajor();

/// Tests: where a libcupti of that major would be looked for, given the paths of mapped libraries, best
/// first.
std::string chooseMappedCupti(const char* const* mapped, std::size_t count, int major);

/// Tests put functions of their own in place of the library's.
void setCuptiApi(const CuptiApi& api);

} // namespace gd::cupti
