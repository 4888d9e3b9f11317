// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace gdt::model {

/// Which part of a whole tensor a rank holds: of each of `blocks` blocks of rows that follow each other, the
/// `rows` rows from `firstRow` and of these the `columns` columns from `firstColumn`. A vector has one
/// column.
struct Shard {
    std::int64_t blocks = 1;
    std::int64_t blockRows = 1; ///< of the whole tensor
    std::int64_t rows = 1;
    std::int64_t firstRow = 0;
    std::int64_t wholeColumns = 1;
    std::int64_t columns = 1;
    std::int64_t firstColumn = 0;

    [[nodiscard]] std::int64_t count() const { return blocks * rows * columns; }
    [[nodiscard]] std::int64_t wholeCount() const { return blocks * blockRows * wholeColumns; }
    /// Place in the whole tensor of an element of the shard.
    [[nodiscard]] std::int64_t globalIndex(std::int64_t element) const {
        const std::int64_t row = element / columns;
        const std::int64_t wholeRow = row / rows * blockRows + firstRow + row % rows;
        return wholeRow * wholeColumns + firstColumn + element % columns;
    }

    /// All of a matrix, or of a vector.
    static Shard whole(std::int64_t rows, std::int64_t columns = 1) {
        return {1, rows, rows, 0, columns, columns, 0};
    }
    /// Part `part` of `parts` of the rows of each block.
    static Shard ofRows(
        std::int64_t rows, std::int64_t columns, int part, int parts, std::int64_t blocks = 1) {
        const std::int64_t blockRows = rows / blocks;
        const std::int64_t own = blockRows / parts;
        return {blocks, blockRows, own, part * own, columns, columns, 0};
    }
    static Shard ofColumns(std::int64_t rows, std::int64_t columns, int part, int parts) {
        const std::int64_t own = columns / parts;
        return {1, rows, rows, 0, columns, own, part * own};
    }
};

/// One tensor inside the parameter block. Gradients and optimizer moments have the same offsets in theirs.
struct Parameter {
    std::string name; ///< the same for the same tensor of the model, however it is spread over ranks
    std::uint64_t id = 0; ///< stream of the random numbers it starts from; the same in every layout, too
    Shard shard;
    std::int64_t offset = 0; ///< elements
    std::int64_t count = 0;
    double mean = 0; ///< of the initial values
    double deviation = 0;
    bool decayed = false; ///< subject to weight decay: matrices are, gains and biases are not
    bool replicated = false; ///< the same on all tensor-parallel ranks, whose gradients it needs the sum of
                             ///< when each saw a part of the sequence only
    bool secondary = false; ///< a copy of a tensor that an earlier stage holds, too
};

/// Places all parameters in one block: first copies of tensors of other stages, then the other decayed ones,
/// then the replicated, then the rest; so that optimizer and reductions need a few launches whatever the
/// number of tensors. Indices are those of the declaration. One thread.
class ParameterLayout {
public:
    struct Range {
        std::int64_t first = 0;
        std::int64_t count = 0;
    };

    /// Matrix with normal entries; returns its index.
    int addMatrix(std::string name, std::uint64_t id, const Shard& shard, double deviation);
    /// Vector with all entries `value`; returns its index.
    int addVector(std::string name, std::uint64_t id, const Shard& shard, double value, bool replicated);
    /// A matrix that an earlier stage holds, too.
    int addCopy(std::string name, std::uint64_t id, const Shard& shard, double deviation);
    /// Fixes the offsets; nothing can be added afterwards. The block is filled up to a multiple of
    /// `multiple`.
    void finish(std::int64_t multiple = 1);

    [[nodiscard]] const std::vector<Parameter>& parameters() const { return m_parameters; }
    [[nodiscard]] const Parameter& at(int index) const {
        return m_parameters[static_cast<std::size_t>(index)];
    }
    /// Elements of the block, with what fills it up.
    [[nodiscard]] std::int64_t count() const { return m_count; }
    /// Elements of all tensors.
    [[nodiscard]] std::int64_t usedCount() const { return m_usedCount; }
    [[nodiscard]] std::int64_t decayedCount() const { return m_decayedCount; }
    [[nodiscard]] Range secondary() const { return {0, m_secondaryCount}; }
    [[nodiscard]] Range replicated() const { return {m_decayedCount, m_replicatedCount}; }

private:
    int add(Parameter parameter);

    std::vector<Parameter> m_parameters;
    std::int64_t m_count = 0;
    std::int64_t m_usedCount = 0;
    std::int64_t m_decayedCount = 0;
    std::int64_t m_secondaryCount = 0;
    std::int64_t m_replicatedCount = 0;
};

/// A parameter and its gradient in device memory.
template <class T> struct Tensor {
    T* value = nullptr;
    kernels::Wide<T>* gradient = nullptr;
};

} // namespace gdt::model
