// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/buffer_plan.h"
#include "model/config.h"
#include "parallel/model_parallel.h"

#include <algorithm>

namespace gdt::model {

/// Sizes of the model's tensors on this rank.
struct LocalSizes {
    LocalSizes(const ModelConfig& config, const parallel::ModelParallel& parallel, std::int64_t maxRows)
        : rows(maxRows)
        , shardRows(parallel.tensor.shardRows(maxRows))
        , hidden(config.hidden)
        , heads(config.heads / parallel.tensor.size)
        , headSize(config.headSize())
        , mlpHidden(config.mlpHidden() / parallel.tensor.size)
        , fc1(config.mlpBlocks() * mlpHidden)
        , vocab(config.vocab / parallel.tensor.size)
        , firstToken(vocab * parallel.tensor.rank)
        , fp8(config.fp8) { }

    std::int64_t rows, shardRows; ///< of the longest micro-batch, see Pass
    std::int64_t hidden, heads, headSize;
    std::int64_t mlpHidden, fc1; ///< inputs of the MLP's second linear, outputs of its first one
    std::int64_t vocab, firstToken;
    bool fp8;

    [[nodiscard]] std::int64_t width() const { return heads * headSize; } ///< of this rank's heads
};

/// Both factors of a product in 8 bits.
struct Fp8Scratch {
    std::uint8_t* left = nullptr;
    std::uint8_t* right = nullptr;
};

/// Buffers that no pass keeps beyond the next layer, shared by all layers and slots. Those that only
/// parallel ranks need are null elsewhere.
template <class T> struct Scratch {
    using Wide = kernels::Wide<T>;

    T* narrow = nullptr; ///< [rows, hidden]
    T* branchGradient = nullptr; ///< [shardRows, hidden]
    T* wide = nullptr; ///< [rows, fc1], also the gradient of queries, keys and values
    T* gated = nullptr; ///< [rows, mlpHidden], gradient of the product of gates and values; SwiGLU
    T* heads = nullptr; ///< [rows, hidden / ranks], gradient of the attention's output
    Wide* rowSums = nullptr; ///< [batch, heads, seqLen]
    Fp8Scratch fp8;
    T* shard = nullptr; ///< [shardRows, hidden]; sequence parallel
    T* full = nullptr; ///< [rows, hidden]; sequence parallel
    T* keyValues[2] = {}; ///< [rows, 2 * width]; ring
    Wide* keyValueGradients[2] = {};
    Wide* queryGradient = nullptr; ///< [rows, width]
    Wide* ringOutput = nullptr; ///< [rows, width]
    Wide* maxima = nullptr; ///< [rows]; vocabulary over ranks
    Wide* sums = nullptr; ///< [2 * rows]

    void plan(BufferPlan& plan, const LocalSizes& sizes, const parallel::ModelParallel& parallel) {
        plan.want(&narrow, sizes.rows * sizes.hidden);
        plan.want(&branchGradient, sizes.shardRows * sizes.hidden);
        plan.want(&wide, sizes.rows * std::max(sizes.fc1, 3 * sizes.width()));
        if (sizes.fc1 > sizes.mlpHidden) {
            plan.want(&gated, sizes.rows * sizes.mlpHidden);
        }
        plan.want(&heads, sizes.rows * sizes.width());
        plan.want(&rowSums, sizes.rows * sizes.heads);
        if (sizes.fp8) {
            const std::int64_t widest = std::max({sizes.hidden, sizes.fc1, 3 * sizes.width()});
            plan.want(&fp8.left, sizes.rows * widest);
            plan.want(&fp8.right, std::max(sizes.rows, sizes.hidden) * widest);
        }
        if (parallel.tensor.shards()) {
            plan.want(&shard, sizes.shardRows * sizes.hidden);
            plan.want(&full, sizes.rows * sizes.hidden);
        }
        if (parallel.tensor.parallel()) {
            plan.want(&maxima, sizes.rows);
            plan.want(&sums, 2 * sizes.rows);
        }
        if (parallel.context.size > 1) {
            for (int i = 0; i < 2; ++i) {
                plan.want(&keyValues[i], sizes.rows * 2 * sizes.width());
                plan.want(&keyValueGradients[i], sizes.rows * 2 * sizes.width());
            }
            plan.want(&queryGradient, sizes.rows * sizes.width());
            plan.want(&ringOutput, sizes.rows * sizes.width());
        }
    }
};

/// The residual stream around one layer, for one slot: x comes in, y goes out, and `gradient` is that of y
/// before the backward pass of the layer and that of x after it. All [shardRows, hidden].
template <class T> struct Residual {
    const T* x = nullptr;
    T* y = nullptr;
    T* gradient = nullptr;
};

} // namespace gdt::model
