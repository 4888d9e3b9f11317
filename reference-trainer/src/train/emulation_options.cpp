// SPDX-License-Identifier: Apache-2.0
#include "train/emulation_options.h"

#include "train/option_range.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace gdt::train {

void EmulationOptions::add(CLI::App& app, RunConfig& config) {
    const char* group = "Emulation (labelled EMULATED and MODELLED in everything that the run says)";
    app.add_option("--host-op-overhead-us", config.hostPace.overheadUs,
           "Microseconds that each call that queues work costs the host in addition, as under a framework "
           "(12 is usual)")
        ->group(group)
        ->check(within(0.0, 1e6));
    app.add_option("--host-stalls", m_stalls,
           "Share of those calls at which the host stalls, and the mean length in ms")
        ->group(group)
        ->expected(2)
        ->check(within(0.0, 1e4));
    app.add_option("--comm", m_comm,
           "real: ranks talk to each other; model: this process alone does the work of rank --as-rank of the "
           "layout, and each operation only takes the time that the network model says. Such runs show "
           "times, "
           "not losses")
        ->group(group)
        ->check(CLI::IsMember({"real", "model"}));
    app.add_option("--as-rank", config.asRank, "Rank whose work --comm model does")
        ->group(group)
        ->check(within(0, 1 << 20));
    app.add_option("--comm-within-node", m_withinNode,
           "Network model, links within a node: microseconds an operation and GB/s")
        ->group(group)
        ->expected(2)
        ->check(within(0.0, 1e6));
    app.add_option("--comm-between-nodes", m_betweenNodes, "The same for links between nodes")
        ->group(group)
        ->expected(2)
        ->check(within(0.0, 1e6));
    app.add_option("--ranks-per-node", config.network.ranksPerNode, "Network model: ranks of a node")
        ->group(group)
        ->check(within(1, 1 << 20));
}

std::string EmulationOptions::apply(RunConfig& config) const {
    config.modelledComm = m_comm == "model";
    config.hostPace.stallProbability = m_stalls[0];
    config.hostPace.stallMs = m_stalls[1];
    config.network.withinNode = {m_withinNode[0], m_withinNode[1]};
    config.network.betweenNodes = {m_betweenNodes[0], m_betweenNodes[1]};
    if (m_stalls[0] > 1 || (m_stalls[0] > 0 && m_stalls[1] <= 0)) {
        return "--host-stalls needs a share up to 1 and a length above 0 ms";
    }
    if (m_withinNode[1] < comm::kLeastGigabytesPerSecond
        || m_betweenNodes[1] < comm::kLeastGigabytesPerSecond) {
        return fmt::format("--comm-within-node and --comm-between-nodes need {:g} GB/s or more",
            comm::kLeastGigabytesPerSecond);
    }
    if (config.modelledComm && config.asRank >= config.parallel.world()) {
        return fmt::format(
            "--as-rank {}: the layout has {} ranks, from 0 on", config.asRank, config.parallel.world());
    }
    if (config.modelledComm && !(config.saveFolder.empty() && config.resumeFolder.empty())) {
        return "--comm model trains nothing that --save or --resume could keep: leave one of them out";
    }
    if (config.modelledComm && config.parallel.world() == 1) {
        return "--comm model stands for ranks that are not there: give --tp, --pp, --cp or --dp";
    }
    return {};
}

} // namespace gdt::train
