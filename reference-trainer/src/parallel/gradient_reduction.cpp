// SPDX-License-Identifier: Apache-2.0
#include "parallel/gradient_reduction.h"

#include <algorithm>

namespace gdt::parallel {

using runtime::Status;

void* GradientReduction::at(std::int64_t element) const {
    return static_cast<std::byte*>(gradients) + static_cast<std::size_t>(element) * comm::sizeOf(type);
}

Status GradientReduction::sum(comm::Communicator& communicator, std::int64_t first, std::int64_t elements,
    runtime::Stream& stream) const {
    return communicator.at().allReduce(
        at(first), at(first), static_cast<std::size_t>(elements), type, comm::ReduceOp::Sum, stream);
}

Status GradientReduction::issueWithinReplica(runtime::Stream& stream) const {
    if (tensor != nullptr && replicatedCount > 0) {
        GDT_TRY(sum(*tensor, replicatedFirst, replicatedCount, stream));
    }
    if (tiedEmbedding != nullptr) {
        GDT_TRY(sum(*tiedEmbedding, tableFirst, tableCount, stream));
    }
    return Status::Success;
}

Status GradientReduction::issueReplicas(runtime::Stream& stream) const {
    if (replicas == nullptr) {
        return Status::Success;
    }
    if (scatter) {
        const std::int64_t part = count / replicas->size();
        return replicas->at().reduceScatter(gradients, at(part * replicas->rank()),
            static_cast<std::size_t>(part), type, comm::ReduceOp::Sum, stream);
    }
    const std::int64_t step = bucket > 0 ? bucket : count;
    for (std::int64_t first = 0; first < count; first += step) {
        GDT_TRY(sum(*replicas, first, std::min(step, count - first), stream));
    }
    return Status::Success;
}

Status GradientReduction::issueLoss(runtime::Stream& stream) const {
    if (lossRanks == nullptr) {
        return Status::Success;
    }
    return lossRanks->at().allReduce(loss, loss, 1, comm::DataType::Float64, comm::ReduceOp::Sum, stream);
}

Status GradientReduction::issue(runtime::Stream& stream) const {
    GDT_TRY(issueWithinReplica(stream));
    GDT_TRY(issueReplicas(stream));
    return issueLoss(stream);
}

} // namespace gdt::parallel
