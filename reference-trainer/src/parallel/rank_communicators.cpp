// SPDX-License-Identifier: Apache-2.0
#include "parallel/rank_communicators.h"

namespace gdt::parallel {

bool RankCommunicators::split(const ParallelState& ranks, bool tiesEmbedding, std::string& error) {
    error.clear();
    if (world == nullptr) {
        return true;
    }
    const auto make = [&](std::unique_ptr<comm::Communicator>& to, std::initializer_list<Axis> axes) {
        if (error.empty() && ranks.groupSize(axes) > 1) {
            to = world->split(ranks.groupLeader(axes), ranks.rank(), error);
        }
    };
    make(tensor, {Axis::Tensor});
    make(context, {Axis::Context});
    make(pipeline, {Axis::Pipeline});
    make(replicas, {Axis::Data, Axis::Context});
    make(model, {Axis::Tensor, Axis::Pipeline});
    make(loss, {Axis::Data, Axis::Context, Axis::Pipeline});
    make(agreement, {Axis::Tensor, Axis::Context, Axis::Data, Axis::Pipeline});
    make(stageAgreement, {Axis::Tensor, Axis::Context});
    const int stages = ranks.size(Axis::Pipeline);
    if (error.empty() && tiesEmbedding && stages > 1) {
        const int stage = ranks.coordinate(Axis::Pipeline);
        const bool end = stage == 0 || stage == stages - 1;
        tiedEmbedding = world->split(end ? ranks.groupLeader({Axis::Pipeline}) : -1, ranks.rank(), error);
    }
    return error.empty();
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
