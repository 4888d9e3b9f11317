// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace gdt::parallel {

/// The dimensions a job is spread over. In this version only `data` may exceed 1.
struct ParallelSizes {
    int tensor = 1;
    int context = 1;
    int data = 1;
    int pipeline = 1;

    [[nodiscard]] int world() const { return tensor * context * data * pipeline; }
};

enum class Axis { Tensor, Context, Data, Pipeline };

/// Place of one rank in the grid of ranks. Ranks count tensor fastest, then context, data, pipeline:
/// neighbours on the axis with most traffic are neighbours in rank, and thus on one host. Immutable.
class ParallelState {
public:
    /// rank in [0, sizes.world()).
    ParallelState(const ParallelSizes& sizes, int rank);

    [[nodiscard]] int rank() const { return m_rank; }
    [[nodiscard]] int worldSize() const { return m_sizes.world(); }
    [[nodiscard]] int size(Axis axis) const;
    [[nodiscard]] int coordinate(Axis axis) const;
    /// World ranks that differ from this one in `axis` only, ascending; this rank is among them.
    [[nodiscard]] std::vector<int> group(Axis axis) const;
    /// The same for all ranks of the group, different between groups: the name of its communicator.
    [[nodiscard]] std::string groupName(Axis axis) const;

private:
    [[nodiscard]] int stride(Axis axis) const;

    ParallelSizes m_sizes;
    int m_rank;
};

} // namespace gdt::parallel
