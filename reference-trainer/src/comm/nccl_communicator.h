// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"

#include <memory>

namespace gdt::comm {

struct NcclOptions {
    /// Folder that all ranks see, for the rendezvous; it must exist.
    std::string folder;
    std::string agreement; ///< see ShmOptions
    int rank = 0;
    int size = 1;
    int gpu = 0; ///< of this rank
    int gpus = 1; ///< on this host; where ranks share one, NCCL is told that they are on different hosts
    std::int64_t startNs = 60'000'000'000; ///< until all ranks have come
    std::int64_t timeoutNs = 30'000'000'000; ///< that one call may wait for the device or for other ranks
};

/// NCCL on the GPUs of one host, loaded at run time. The ranks meet as those of a shared-memory communicator
/// do. Results are the same on all ranks; the order of additions is NCCL's. Must be destroyed after all
/// graphs that hold its operations. On failure returns null and puts one sentence into `error`.
///
/// NCCL's operations never time out: where the calling thread waits longer than `timeoutNs` in one call, of
/// NCCL or of gdt::runtime, the process prints what it waited for and ends with status 1 (comm/comm_watch.h).
[[nodiscard]] std::unique_ptr<Communicator> createNcclCommunicator(
    const NcclOptions& options, std::string& error);

} // namespace gdt::comm
