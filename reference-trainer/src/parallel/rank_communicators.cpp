// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_communicators.h"

#include <algorithm>

namespace gdt::parallel {

namespace {

std::vector<int> groupOf(const ParallelState& ranks, std::initializer_list<Axis> axes) {
    const ParallelSizes sizes{ranks.size(Axis::Tensor), ranks.size(Axis::Context), ranks.size(Axis::Data),
        ranks.size(Axis::Pipeline)};
    std::vector<int> group;
    for (int rank = 0; rank < ranks.worldSize(); ++rank) {
        if (ParallelState(sizes, rank).groupLeader(axes) == ranks.groupLeader(axes)) {
            group.push_back(rank);
        }
    }
    return group;
}

} // namespace

std::vector<RankCommunicators::Purpose> RankCommunicators::purposes(
    const ParallelState& ranks, bool tiesEmbedding) {
    std::vector<Purpose> list;
    const auto add = [&](auto& to, const char* name, std::initializer_list<Axis> axes) {
        if (ranks.groupSize(axes) > 1) {
            list.push_back({to, name, groupOf(ranks, axes), ranks.groupLeader(axes)});
        }
    };
    add(tensor, "tensor", {Axis::Tensor});
    add(context, "context", {Axis::Context});
    add(pipeline, "pipeline", {Axis::Pipeline});
    add(replicas, "replicas", {Axis::Data, Axis::Context});
    add(model, "model", {Axis::Tensor, Axis::Pipeline});
    add(loss, "loss", {Axis::Data, Axis::Context, Axis::Pipeline});
    add(agreement, "agreement", {Axis::Tensor, Axis::Context, Axis::Data, Axis::Pipeline});
    add(stageAgreement, "stage agreement", {Axis::Tensor, Axis::Context});
    if (tiesEmbedding && ranks.size(Axis::Pipeline) > 1) {
        const std::vector<int> stages = ranks.group(Axis::Pipeline);
        const bool end = ranks.rank() == stages.front() || ranks.rank() == stages.back();
        // The stages between take part in the split and get nothing.
        list.push_back(
            {tiedEmbedding, "tied embedding", {stages.front(), stages.back()}, end ? stages.front() : -1});
    }
    return list;
}

bool RankCommunicators::split(const ParallelState& ranks, bool tiesEmbedding, std::string& error) {
    error.clear();
    if (world == nullptr) {
        return true;
    }
    for (const Purpose& purpose : purposes(ranks, tiesEmbedding)) {
        if (error.empty()) {
            purpose.to = world->split(purpose.color, ranks.rank(), error);
            if (purpose.to != nullptr) {
                purpose.to->identify(purpose.name, purpose.group);
            }
        }
    }
    return error.empty();
}

std::vector<std::string> RankCommunicators::makeModelled(const ParallelState& ranks, bool tiesEmbedding,
    runtime::Backend backend, const comm::NetworkModel& network) {
    std::vector<std::string> texts;
    for (const Purpose& purpose : purposes(ranks, tiesEmbedding)) {
        if (purpose.color < 0) {
            continue;
        }
        const auto place = std::find(purpose.group.begin(), purpose.group.end(), ranks.rank());
        auto made = std::make_unique<comm::ModelCommunicator>(comm::ModelCommunicatorOptions{
            backend, network, purpose.group, static_cast<int>(place - purpose.group.begin())});
        texts.push_back(std::string(purpose.name) + ": " + made->text());
        purpose.to = std::move(made);
    }
    return texts;
}

comm::Communicator* RankCommunicators::everyone() const {
    // Modelled ranks have no world; nobody waits for them, so their order does not matter.
    return world != nullptr ? world.get() : agreement.get();
}

void RankCommunicators::setModelledSource(const void* source, std::size_t bytes) const {
    for (const auto* communicator : {&pipeline, &context}) {
        if (auto* modelled = dynamic_cast<comm::ModelCommunicator*>(communicator->get())) {
            modelled->setSource(source, bytes);
        }
    }
}

std::string RankCommunicators::error() const {
    for (const auto* communicator : {&tensor, &context, &pipeline, &replicas, &model, &loss, &tiedEmbedding,
             &agreement, &stageAgreement, &world}) {
        if (*communicator != nullptr && !(*communicator)->error().empty()) {
            return (*communicator)->error();
        }
    }
    return {};
}

} // namespace gdt::parallel
