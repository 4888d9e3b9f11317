// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/comm_watch.h"
#include "comm/communicator.h"
#include "comm/nccl_library.h"

namespace gdt::comm {

/// A communicator of the library, made.
struct NcclParts {
    const Nccl& nccl; ///< outlives it
    ncclComm_t handle = nullptr; ///< destroyed with what is made of it
    int rank = 0;
    int size = 1;
    std::uint64_t hash = 0;
};

[[nodiscard]] std::unique_ptr<Communicator> wrapNccl(
    const NcclParts& parts, std::shared_ptr<CommWatch> watch);

} // namespace gdt::comm
