// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/optimizer_graph.h"

#include "analyzer/facts/names.h"

namespace gd::facts {

bool isOptimizerGraph(const ProcessData& process, const Graph& graph) {
    bool steps = false;
    for (const std::int32_t index : graph.nodes) {
        const std::string& name = process.nodes[static_cast<std::size_t>(index)].name;
        for (const char* model : {"gemm", "attention", "fmha", "flash", "conv"}) {
            if (name.find(model) != std::string::npos)
                return false;
        }
        steps = steps || isOptimizerKernel(name);
    }
    return steps;
}

} // namespace gd::facts
