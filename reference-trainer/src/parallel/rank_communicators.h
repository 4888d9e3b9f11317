// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/model_communicator.h"
#include "parallel/parallel_state.h"

#include <memory>
#include <string>
#include <vector>

namespace gdt::parallel {

/// The communicators of one rank, one for each purpose, all split off the world. A group of one rank has
/// none. Ranks of a group are in the order of world ranks.
struct RankCommunicators {
    std::unique_ptr<comm::Communicator> world; ///< null with one rank
    std::unique_ptr<comm::Communicator> tensor;
    std::unique_ptr<comm::Communicator> context;
    std::unique_ptr<comm::Communicator> pipeline; ///< rank in it = stage
    std::unique_ptr<comm::Communicator> replicas; ///< data and context: the sum of gradients
    std::unique_ptr<comm::Communicator> model; ///< tensor and pipeline: the norm of the gradients
    std::unique_ptr<comm::Communicator> loss; ///< data, context and pipeline: the loss of the global batch
    std::unique_ptr<comm::Communicator> tiedEmbedding; ///< first and last stage, when they share the table
    std::unique_ptr<comm::Communicator> agreement; ///< all ranks; outside captures only
    std::unique_ptr<comm::Communicator> stageAgreement; ///< tensor and context

    /// Makes all but `world`, which is there. Called by all ranks; false with one sentence in `error`.
    [[nodiscard]] bool split(const ParallelState& ranks, bool tiesEmbedding, std::string& error);
    /// Makes all of them for one rank whose peers do not exist; says for each what it stands for.
    std::vector<std::string> makeModelled(const ParallelState& ranks, bool tiesEmbedding,
        runtime::Backend backend, const comm::NetworkModel& network);
    /// For operations of all ranks inside captures. Not the agreement's communicator: what one rank's graph
    /// and its agreement send on different streams has no common order.
    [[nodiscard]] comm::Communicator* everyone() const;
    /// What modelled ranks receive, see ModelCommunicator.
    void setModelledSource(const void* source, std::size_t bytes) const;
    /// The first error of any of them, empty when none failed.
    [[nodiscard]] std::string error() const;

private:
    struct Purpose {
        std::unique_ptr<comm::Communicator>& to;
        const char* name;
        std::vector<int> group; ///< world ranks, this one included, ascending
        int color; ///< the same for all of the group, of no other
    };
    /// Those that have more than one rank, in the order in which all ranks make them.
    [[nodiscard]] std::vector<Purpose> purposes(const ParallelState& ranks, bool tiesEmbedding);
};

} // namespace gdt::parallel
