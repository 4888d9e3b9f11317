// SPDX-License-Identifier: Apache-2.0
// Stands in for nccl_communicator.cpp where the program is built without CUDA or NCCL's header.
#include "comm/nccl_communicator.h"

namespace gdt::comm {

std::unique_ptr<Communicator> createNcclCommunicator(const NcclOptions&, std::string& error) {
    error = "this program was built without NCCL, which several ranks with --backend cuda need";
    return nullptr;
}

} // namespace gdt::comm
