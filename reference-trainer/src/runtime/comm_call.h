// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/error.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gdt::runtime {

/// What a collective carries when it is queued or captured. Plain values, frozen like kernel arguments.
struct CommArguments {
    std::uint32_t kind = 0; ///< gd_rt_comm_kind
    std::uint32_t dataType = 0;
    std::uint32_t reduceOp = 0;
    std::int32_t root = -1; ///< or the peer of a send or receive, -1 for none
    std::uint64_t count = 0;
    const void* send = nullptr;
    void* receive = nullptr;
    std::uint64_t messageBytes = 0; ///< count times type size on this rank
    bool deferred = false; ///< a send or receive that starts with the next one that is not
    bool modelled = false; ///< no communication at all, see comm/model_communicator.h
    std::int64_t modelledNs = 0; ///< how long a modelled one takes; 0 for all of a group but the last one
};

/// The end of a communicator that runs operations; called on a stream's worker thread.
class CommEndpoint {
public:
    virtual ~CommEndpoint() = default;
    virtual Status execute(const CommArguments& arguments, bool captured) = 0;
    [[nodiscard]] virtual std::uint64_t commHash() const = 0;
    [[nodiscard]] virtual std::uint32_t commRanks() const = 0;
};

struct CommCall {
    std::shared_ptr<CommEndpoint> endpoint;
    CommArguments arguments;
};

} // namespace gdt::runtime
