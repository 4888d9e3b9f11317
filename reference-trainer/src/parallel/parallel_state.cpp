// SPDX-License-Identifier: Apache-2.0
#include "parallel/parallel_state.h"

#include <algorithm>

namespace gdt::parallel {

ParallelState::ParallelState(const ParallelSizes& sizes, int rank)
    : m_sizes(sizes)
    , m_rank(rank) { }

int ParallelState::size(Axis axis) const {
    switch (axis) {
    case Axis::Tensor:
        return m_sizes.tensor;
    case Axis::Context:
        return m_sizes.context;
    case Axis::Data:
        return m_sizes.data;
    case Axis::Pipeline:
        return m_sizes.pipeline;
    }
    return 1;
}

int ParallelState::stride(Axis axis) const {
    int stride = 1;
    for (const Axis faster : {Axis::Tensor, Axis::Context, Axis::Data, Axis::Pipeline}) {
        if (faster == axis) {
            break;
        }
        stride *= size(faster);
    }
    return stride;
}

int ParallelState::coordinate(Axis axis) const {
    return m_rank / stride(axis) % size(axis);
}

std::vector<int> ParallelState::group(Axis axis) const {
    const int first = m_rank - coordinate(axis) * stride(axis);
    std::vector<int> ranks;
    ranks.reserve(static_cast<std::size_t>(size(axis)));
    for (int i = 0; i < size(axis); ++i) {
        ranks.push_back(first + i * stride(axis));
    }
    return ranks;
}

int ParallelState::groupSize(std::initializer_list<Axis> axes) const {
    int ranks = 1;
    for (const Axis axis : axes) {
        ranks *= size(axis);
    }
    return ranks;
}

int ParallelState::groupLeader(std::initializer_list<Axis> axes) const {
    int leader = m_rank;
    for (const Axis axis : axes) {
        leader -= coordinate(axis) * stride(axis);
    }
    return leader;
}

int ParallelState::placeIn(std::initializer_list<Axis> axes) const {
    int place = 0;
    int faster = 1;
    for (const Axis axis : {Axis::Tensor, Axis::Context, Axis::Data, Axis::Pipeline}) {
        if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
            place += coordinate(axis) * faster;
            faster *= size(axis);
        }
    }
    return place;
}

} // namespace gdt::parallel
