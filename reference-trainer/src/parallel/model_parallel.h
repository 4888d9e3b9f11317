// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "parallel/context_group.h"
#include "parallel/tensor_group.h"

namespace gdt::parallel {

/// What model code needs to know of the other ranks. The default is a rank of its own.
struct ModelParallel {
    TensorGroup tensor;
    ContextGroup context;
};

/// A rank of its own.
[[nodiscard]] inline const ModelParallel& alone() {
    static const ModelParallel instance;
    return instance;
}

} // namespace gdt::parallel
