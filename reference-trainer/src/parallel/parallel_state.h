// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace gdt::parallel {

/// The dimensions a job is spread over.
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
    /// Number of ranks that differ from this one in some of `axes` only, this one included.
    [[nodiscard]] int groupSize(std::initializer_list<Axis> axes) const;
    /// The lowest of these ranks: the same for all ranks of the group, different between groups.
    [[nodiscard]] int groupLeader(std::initializer_list<Axis> axes) const;
    /// Place of this rank in the group, in the order of ranks.
    [[nodiscard]] int placeIn(std::initializer_list<Axis> axes) const;

private:
    [[nodiscard]] int stride(Axis axis) const;

    ParallelSizes m_sizes;
    int m_rank;
};

} // namespace gdt::parallel
