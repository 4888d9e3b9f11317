// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_key.h"

namespace gdt::graphs {

const char* scopeName(Scope scope) {
    switch (scope) {
    case Scope::Cycle:
        return "cycle";
    case Scope::Optimizer:
        return "optimizer";
    case Scope::Full:
        return "full";
    case Scope::Microbatch:
        return "microbatch";
    case Scope::Layer:
        return "layer";
    case Scope::Segment:
        return "segment";
    case Scope::Hop:
        return "hop";
    }
    return "unknown";
}

std::string GraphKey::text() const {
    std::string text = scopeName(scope);
    if (withinPass(scope)) {
        text += std::string(backward ? " backward" : " forward") + " chunk=" + std::to_string(chunk)
            + " unit=" + std::to_string(unit) + " slot=" + std::to_string(slot);
    }
    if (scope != Scope::Optimizer) {
        text += (seqLen > 0 ? " seq=" + std::to_string(seqLen) : std::string())
            + " mb=" + std::to_string(microBatch) + "x" + std::to_string(microBatches);
    }
    return text + (elementBytes == 8 ? " f64" : elementBytes == 4 ? " f32" : " bf16");
}

} // namespace gdt::graphs
