// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"

namespace gdt::parallel {

/// What data parallelism adds to a step: gradients and loss are summed over the replicas. The loss of each
/// rank is its share of the global mean already, so nothing is divided.
struct GradientReduction {
    comm::Communicator* communicator = nullptr; ///< null with one replica: nothing happens
    void* gradients = nullptr;
    std::size_t count = 0;
    comm::DataType type = comm::DataType::Float32;
    double* loss = nullptr;

    /// Queues or captures both collectives on `stream`.
    [[nodiscard]] runtime::Status issue(runtime::Stream& stream) const;
};

} // namespace gdt::parallel
