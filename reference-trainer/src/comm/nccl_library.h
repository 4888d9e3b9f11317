// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <string>

namespace gdt::comm {

/// The functions of NCCL that we use.
struct Nccl {
    decltype(&ncclGetUniqueId) getUniqueId = nullptr;
    decltype(&ncclCommInitRank) initRank = nullptr;
    decltype(&ncclCommSplit) split = nullptr;
    decltype(&ncclCommUserRank) userRank = nullptr;
    decltype(&ncclCommCount) count = nullptr;
    decltype(&ncclCommDestroy) destroy = nullptr;
    decltype(&ncclCommAbort) abort = nullptr;
    decltype(&ncclCommGetAsyncError) asyncError = nullptr;
    decltype(&ncclGetLastError) lastError = nullptr;
    decltype(&ncclGetErrorString) errorString = nullptr;
    decltype(&ncclAllReduce) allReduce = nullptr;
    decltype(&ncclReduceScatter) reduceScatter = nullptr;
    decltype(&ncclAllGather) allGather = nullptr;
    decltype(&ncclBroadcast) broadcast = nullptr;
    decltype(&ncclSend) send = nullptr;
    decltype(&ncclRecv) receive = nullptr;
    decltype(&ncclGroupStart) groupStart = nullptr;
    decltype(&ncclGroupEnd) groupEnd = nullptr;
    /// Empty when all were found, else one sentence.
    std::string problem;
};

/// Loaded at the first call: by its soname, then from the usual folder of a toolkit.
[[nodiscard]] const Nccl& nccl();

} // namespace gdt::comm
