// SPDX-License-Identifier: Apache-2.0
#include "comm/world.h"

#include "comm/nccl_communicator.h"
#include "comm/shm_communicator.h"

namespace gdt::comm {

std::unique_ptr<Communicator> createWorld(const WorldOptions& options, std::string& error) {
    if (options.backend == runtime::Backend::Cuda) {
        NcclOptions nccl;
        nccl.folder = options.folder;
        nccl.agreement = options.agreement;
        nccl.rank = options.rank;
        nccl.size = options.size;
        nccl.gpu = options.gpu;
        nccl.timeoutNs = options.timeoutNs;
        nccl.gpus = runtime::deviceCount(options.backend);
        return createNcclCommunicator(nccl, error);
    }
    ShmOptions shared;
    shared.folder = options.folder;
    shared.agreement = options.agreement;
    shared.rank = options.rank;
    shared.size = options.size;
    shared.strict = options.strict;
    shared.timeoutNs = options.timeoutNs;
    return createShmCommunicator(shared, error);
}

} // namespace gdt::comm
