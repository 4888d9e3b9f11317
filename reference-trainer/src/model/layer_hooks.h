// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/stream.h"

#include <cstdint>

namespace gdt::model {

/// Places inside a layer where a fault can act; this class does nothing, FaultInjector does. Calls come from
/// the thread that issues the layer's kernels.
class LayerHooks {
public:
    virtual ~LayerHooks() = default;

    /// Between the attention and the MLP of layer `layer`, while its forward pass is issued or captured.
    virtual runtime::Status inForward(std::int64_t layer, runtime::Stream& stream);
    /// Once a step for each layer, after the cycle was issued or replayed and before the optimizer is.
    virtual runtime::Status betweenReplays(std::int64_t layer, runtime::Stream& stream);
};

} // namespace gdt::model
