// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/communicator.h"

#include <cstdint>

namespace gdt::parallel {

/// What several ranks add to the end of a cycle, after the last micro-batch: gradients that others hold, too,
/// are summed, and so is the loss. The loss of each rank is its share of the global mean already, so nothing
/// is divided. Null communicators are groups of one rank, for which nothing happens.
struct GradientReduction {
    comm::Communicator* replicas = nullptr; ///< data and context parallel: all gradients
    comm::Communicator* tensor = nullptr; ///< sequence parallel: of the tensors that all its ranks hold
    comm::Communicator* tiedEmbedding = nullptr; ///< first and last stage: of the table that both hold
    comm::Communicator* lossRanks = nullptr;
    void* gradients = nullptr; ///< `count` elements
    std::int64_t count = 0;
    comm::DataType type = comm::DataType::Float32;
    std::int64_t replicatedFirst = 0, replicatedCount = 0; ///< elements of `gradients`
    std::int64_t tableFirst = 0, tableCount = 0;
    std::int64_t bucket = 0; ///< elements of one all-reduce over the replicas; 0: all in one
    bool scatter = false; ///< ZeRO-1: each replica gets the sum of its part only; count is a multiple of them
    double* loss = nullptr;

    /// Whether anything is to be done.
    [[nodiscard]] bool any() const {
        return replicas != nullptr || tensor != nullptr || tiedEmbedding != nullptr || lossRanks != nullptr;
    }
    /// Queues or captures the collectives on `stream`.
    [[nodiscard]] runtime::Status issue(runtime::Stream& stream) const;
    /// The part of issue() that sums over the replicas.
    [[nodiscard]] runtime::Status issueReplicas(runtime::Stream& stream) const;
    /// The rest of it, in two parts: before and after that one.
    [[nodiscard]] runtime::Status issueWithinReplica(runtime::Stream& stream) const;
    [[nodiscard]] runtime::Status issueLoss(runtime::Stream& stream) const;

private:
    [[nodiscard]] void* at(std::int64_t element) const;
    [[nodiscard]] runtime::Status sum(comm::Communicator& communicator, std::int64_t first,
        std::int64_t elements, runtime::Stream& stream) const;
};

} // namespace gdt::parallel
