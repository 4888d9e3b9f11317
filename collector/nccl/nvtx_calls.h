// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/api/graphdoctor_runtime.h"

#include <cstdint>
#include <string_view>

namespace gd::nccl {

/// Name of the NVTX domain that NCCL's calls use.
inline constexpr std::string_view kNvtxDomain = "NCCL";

/// What the payload of one of NCCL's ranges said, by the names NCCL gave its fields. NVIDIA/nccl,
/// src/include/nvtx_payload_schemas.h: "NCCL communicator ID", "Message size [bytes]" (older versions also
/// "Bytes", and no communicator), "Root", "Peer rank", "No. of ranks", "Rank", "CUDA device",
/// "No. of devices", "Parent NCCL communicator ID".
struct CallFields {
    bool isReadable = true; ///< false: a payload came whose layout is unknown
    bool hasBytes = false;
    bool isChild = false; ///< a split or shrink: ranks and rank may be the parent's
    std::uint64_t comm = 0; ///< communicator hash, 0 = not said
    std::uint64_t bytes = 0;
    std::int32_t root = -1;
    std::int32_t peer = -1;
    std::int32_t rank = -1;
    std::int32_t device = -1;
    std::uint32_t nranks = 0;
    std::uint32_t ndevices = 0;

    void set(std::string_view name, std::uint64_t value) noexcept;
};

/// A range of NCCL's domain was opened (`fields`: its payload) and closed (`fields`: what was added at its
/// end) on this thread. Ranges nest. NCCL opens one in every call of its interface: calls become records,
/// communicators get their lives, groups are followed.
void rangePushed(std::string_view name, const CallFields& fields) noexcept;
void rangePopped(const CallFields& fields) noexcept;

/// The recording was opened (anew, in a forked child): what NVTX shows must be said again.
void restartNvtx() noexcept;

/// The call this thread is in, as NVTX shows it, for the profiler plugin, which sees the same call inside it.
struct NvtxCall {
    std::uint16_t kind; ///< gd_rt_comm_kind, or raw::kGatherKind, raw::kScatterKind
    std::uint64_t hash; ///< 0 = unknown
    std::int32_t root;
    std::int32_t peer;
    bool isRecorded; ///< set by the plugin: its record is kept, NVTX's is not written
};
/// nullptr: the thread is in no such call.
NvtxCall* openNvtxCall() noexcept;

} // namespace gd::nccl
