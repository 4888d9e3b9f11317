// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"

#include <memory>

namespace gdt::comm {

struct WorldOptions {
    runtime::Backend backend = runtime::Backend::Host;
    std::string folder; ///< that all ranks see, for the rendezvous; it must exist
    std::string agreement; ///< see ShmOptions
    int rank = 0;
    int size = 1;
    bool strict = true; ///< host: see ShmOptions
    int gpu = 0; ///< CUDA: of this rank
    std::int64_t timeoutNs = 30'000'000'000; ///< how long an operation may wait for other ranks
};

/// The communicator of all ranks of a job on one host: shared memory for the host backend, NCCL for CUDA. On
/// failure returns null and puts one sentence into `error`.
[[nodiscard]] std::unique_ptr<Communicator> createWorld(const WorldOptions& options, std::string& error);

} // namespace gdt::comm
