// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/stream.h"

#include <cstddef>
#include <cstdint>

namespace gdt::model {

/// What the dropout masks of a layer are drawn from, see kernels/dropout.h.
struct DropoutSource {
    std::uint64_t seed = 0;
    const std::int64_t* firstSample = nullptr; ///< device
};

/// Places inside a layer where a fault can act; this class does nothing, FaultInjector does. Calls come from
/// the thread that issues the layer's kernels.
class LayerHooks {
public:
    virtual ~LayerHooks() = default;

    /// Between the attention and the MLP of layer `layer`, while its forward pass is issued or captured.
    virtual runtime::Status inForward(std::int64_t layer, runtime::Stream& stream);
    /// Before the layer's backward pass is issued or captured.
    virtual runtime::Status inBackward(std::int64_t layer, runtime::Stream& stream);
    /// What the norms of the layer add to the variance, which their kernels get by value.
    [[nodiscard]] virtual double normEpsilon(std::int64_t layer, double configured);
    [[nodiscard]] virtual DropoutSource dropoutSource(std::int64_t layer, const DropoutSource& configured);
    /// Memory for the scores of an attention that is not fused, null for the fused one. `bytes` are needed.
    virtual runtime::Status scoresMemory(std::int64_t layer, std::size_t bytes, void** memory);
    /// True: the attention's forward pass uses the kernel for short sequences.
    [[nodiscard]] virtual bool shortAttention(std::int64_t layer, std::int64_t seqLen);
    /// Once a step for each layer, after the cycle was issued or replayed and before the optimizer is.
    virtual runtime::Status betweenReplays(std::int64_t layer, runtime::Stream& stream);
};

} // namespace gdt::model
