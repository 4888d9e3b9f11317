// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graphs/graph_manager.h"
#include "model/pass.h"

#include <cstddef>
#include <vector>

namespace gdt::train {

/// Steps [first, first + count) of a pass, to be captured together or issued as they are.
struct Unit {
    std::size_t first = 0;
    std::size_t count = 0;
    bool graph = true;

    friend bool operator==(const Unit&, const Unit&) = default;
};

/// How a pass is cut for graphs of `scope`, one of those within a pass. With `breaksAtComm` communication of
/// any kind also ends a graph and runs outside, as tools that capture blindly do.
[[nodiscard]] std::vector<Unit> cutPass(const model::StepList& steps, graphs::Scope scope, bool breaksAtComm);

/// Runs forward and backward passes: step by step, or in units that the graph manager captures and replays.
/// One thread.
class PassRunner {
public:
    struct Options {
        graphs::GraphManager* manager = nullptr; ///< null: step by step
        graphs::StreamSlot* slot = nullptr;
        graphs::Scope scope = graphs::Scope::Microbatch;
        bool breaksAtComm = false;
        bool keyByMicroBatch = false; ///< a graph for each micro-batch, though they share buffers
        bool sharesSlots = false; ///< the fault shared-graph-exec
        bool keepsShapeApart = false; ///< the sequence length guards a graph instead of naming it (mode auto)
        graphs::GraphKey key; ///< the fields that all units share
    };
    /// Which pass this is.
    struct Place {
        int chunk = 0;
        bool backward = false;
        int slot = 0;
        std::int64_t microBatch = 0;
    };

    PassRunner() = default;
    explicit PassRunner(const Options& options)
        : m_options(options) { }

    /// Whether units are captured one by one: then nothing around them is inside a capture.
    [[nodiscard]] bool captures() const { return m_options.manager != nullptr; }
    runtime::Status run(const model::StepList& steps, const Place& place, const model::Pass& pass);

private:
    Options m_options;
};

} // namespace gdt::train
