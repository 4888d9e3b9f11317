// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/graph_key.h"

#include <string>

namespace gdt::graphs {

/// The memory that graphs freeze, as the graph manager sees it. One thread.
class CaptureMemory {
public:
    virtual ~CaptureMemory() = default;
    /// Empty when all buffers that a graph of `key` would freeze lie in the pool; else what is missing, as
    /// the end of a sentence: "it needs 12.0 MiB and --graph-cache-size allows 8.0 MiB".
    [[nodiscard]] virtual std::string refusal(const GraphKey& key) const = 0;
    /// Around a capture: a frozen pool does not grow.
    virtual void freeze(bool frozen) = 0;
};

} // namespace gdt::graphs
