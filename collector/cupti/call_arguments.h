// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/api/graphdoctor_api_ids.h"
#include "collector/cupti/node_params.h"

#include <cupti.h>

#include <cstdint>

namespace gd::cupti {

/// Which default stream a call means when its stream handle is 0, or when it takes none.
enum class DefaultStream : std::uint8_t { None, Legacy, PerThread };

inline constexpr std::int32_t kNoLocation = -2;
inline constexpr std::int32_t kHostLocation = -1;

/// The arguments of one driver call, as handles. Pointers to results point into the job's memory: read them
/// at exit, after success.
struct CallArguments {
    gd_api_id api = GD_API_NONE;
    bool namesStream = false; ///< has a stream argument
    DefaultStream defaultStream = DefaultStream::None;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUgraphNode node = nullptr;
    CUmemoryPool pool = nullptr;
    std::uint64_t physical = 0; ///< physical memory to be mapped or released
    std::int32_t location = kNoLocation; ///< device that a pool or physical memory is made on
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t mode = 0; ///< capture mode, or the call's flags
    std::int32_t priority = 0;
    const CUevent* eventResult = nullptr;
    const CUgraph* graphResult = nullptr;
    const CUgraphExec* execResult = nullptr;
    const CUdeviceptr* addressResult = nullptr;
    const CUmemoryPool* poolResult = nullptr;
    const CUmemGenericAllocationHandle* physicalResult = nullptr;
    const std::size_t* pitchResult = nullptr; ///< bytes of a row; `bytes` is what was asked for until then
    std::uint64_t rows = 0;
    const CUDA_GRAPH_INSTANTIATE_PARAMS* instantiate = nullptr;
    const CUgraphExecUpdateResultInfo* updateInfo = nullptr;
    const CUgraphExecUpdateResult* updateResult = nullptr;
};

/// The followed call a CUPTI driver callback id folds into, GD_API_NONE = not followed.
gd_api_id followedCall(CUpti_CallbackId id) noexcept;

/// Reads the argument struct of a driver callback. Pure: calls nothing, keeps nothing.
CallArguments decodeArguments(CUpti_CallbackId id, const void* params) noexcept;

/// Reads the argument struct of a kernel launch; false for other calls and without arguments.
bool decodeLaunch(CUpti_CallbackId id, const void* params, KernelLaunch& out) noexcept;

/// All followed callback ids, in the table's order.
struct FollowedCall {
    CUpti_CallbackId id;
    gd_api_id api;
    const char* name;
};
const FollowedCall* followedCalls(std::size_t& count) noexcept;

/// True for single kernel launches, which are subscribed only while a capture is open.
constexpr bool isLaunch(gd_api_id api) {
    return api == GD_API_LAUNCH_KERNEL || api == GD_API_LAUNCH_KERNEL_EX
        || api == GD_API_LAUNCH_COOPERATIVE_KERNEL;
}

constexpr bool beginsCapture(gd_api_id api) {
    return api == GD_API_STREAM_BEGIN_CAPTURE || api == GD_API_STREAM_BEGIN_CAPTURE_TO_GRAPH;
}

/// The streams of a context end with it.
constexpr bool endsContext(gd_api_id api) {
    return api == GD_API_CTX_DESTROY || api == GD_API_DEVICE_RESET || api == GD_API_PRIMARY_CTX_RELEASE;
}

constexpr bool isInstantiate(gd_api_id api) {
    return api == GD_API_GRAPH_INSTANTIATE || api == GD_API_GRAPH_INSTANTIATE_WITH_FLAGS
        || api == GD_API_GRAPH_INSTANTIATE_WITH_PARAMS;
}

/// Also while the level is off: see Client::setLevel.
constexpr bool isFollowedWhenOff(gd_api_id api) {
    return isInstantiate(api) || api == GD_API_GRAPH_LAUNCH || beginsCapture(api)
        || api == GD_API_STREAM_DESTROY || endsContext(api);
}

} // namespace gd::cupti
