// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/config.h"
#include "model/layer_hooks.h"
#include "parallel/model_parallel.h"
#include "runtime/memory_pool.h"

#include <functional>
#include <vector>

namespace gdt::model {

/// What every forward and backward function is given.
struct Pass {
    runtime::Stream& stream;
    LayerHooks& hooks;
    BatchShape shape; ///< of the part of the sequence that this context-parallel rank holds
    const parallel::ModelParallel& parallel;
    std::int64_t seqLen = 0; ///< of the whole sequence
    double weight = 1; ///< of a token's loss: 1 / (tokens of the global batch)

    [[nodiscard]] std::int64_t rows() const { return shape.rows(); }
    /// Rows of the residual stream, see TensorGroup.
    [[nodiscard]] std::int64_t shardRows() const { return parallel.tensor.shardRows(rows()); }
};

/// Where a graph may begin or end, when not a whole pass is captured.
enum class StepKind {
    Compute,
    TensorComm, ///< a collective of the tensor-parallel ranks
    RingComm, ///< keys, values or their gradients go to the next context-parallel rank
    RingCompute, ///< attention over the keys that came
};

/// One piece of a forward or backward pass. `issue` queues its kernels or collective for the buffers of one
/// slot; arguments are evaluated then, so that a capture freezes exactly what a CUDA launch would.
struct Step {
    StepKind kind = StepKind::Compute;
    std::int64_t layer = -1; ///< -1 for what lies before the first or after the last layer
    int hop = -1; ///< of the ring; a RingComm belongs to the RingCompute beside which it travels
    std::function<runtime::Status(const Pass& pass, int slot)> issue;
};

using StepList = std::vector<Step>;

/// Launch shape for a kernel that handles one element a thread.
inline runtime::Grid gridFor(std::int64_t elements) {
    runtime::Grid grid;
    grid.blockX = 256;
    grid.gridX = static_cast<std::uint32_t>((elements + 255) / 256);
    return grid;
}

/// Launch shape for a matrix product in tiles of 64 x 64.
inline runtime::Grid gridFor(std::int64_t rows, std::int64_t columns) {
    runtime::Grid grid;
    grid.blockX = 256;
    grid.gridX = static_cast<std::uint32_t>((columns + 63) / 64);
    grid.gridY = static_cast<std::uint32_t>((rows + 63) / 64);
    return grid;
}

/// Takes `count` elements from the pool.
template <class T> runtime::Status take(runtime::GraphPool& pool, T** pointer, std::int64_t count) {
    return pool.allocate(reinterpret_cast<void**>(pointer), static_cast<std::size_t>(count) * sizeof(T));
}

} // namespace gdt::model
