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
    }
    return "unknown";
}

std::string GraphKey::text() const {
    std::string text = scopeName(scope);
    if (scope != Scope::Optimizer) {
        text += " seq=" + std::to_string(seqLen) + " mb=" + std::to_string(microBatch) + "x"
            + std::to_string(microBatches);
    }
    return text + (elementBytes == 8 ? " f64" : elementBytes == 4 ? " f32" : " bf16");
}

} // namespace gdt::graphs
