// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/config.h"
#include "model/layer_hooks.h"
#include "runtime/memory_pool.h"

namespace gdt::model {

/// What every forward and backward function is given.
struct Pass {
    runtime::Stream& stream;
    LayerHooks& hooks;
    BatchShape shape;
};

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
