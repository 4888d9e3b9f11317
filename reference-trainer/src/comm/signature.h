// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/comm_call.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gdt::comm {

/// What a rank says it does. Equal on all ranks of a collective, and on both ends of a message but for kind
/// and peer; else the operation fails.
struct Signature {
    std::uint64_t operation = 0; ///< collectives of the communicator, or messages between the two, from 1
    std::uint64_t count = 0;
    std::uint32_t kind = 0; ///< gd_rt_comm_kind
    std::uint32_t dataType = 0;
    std::uint32_t reduceOp = 0;
    std::int32_t root = -1; ///< or the peer
    std::uint32_t captured = 0;
    std::uint32_t reserved = 0;

    bool operator==(const Signature&) const = default;
};

[[nodiscard]] Signature signatureOf(
    const runtime::CommArguments& arguments, bool captured, std::uint64_t operation);

/// For example "send of 16 float64 to rank 3, in a graph, as operation 2"; the peer is named by its rank in
/// the job, jobRanks[rank in the communicator].
[[nodiscard]] std::string describe(const Signature& signature, const std::vector<int>& jobRanks);

/// Whether a send and a receive belong together.
[[nodiscard]] bool sameMessage(const Signature& send, const Signature& receive);

} // namespace gdt::comm
