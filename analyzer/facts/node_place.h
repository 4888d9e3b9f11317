// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/passes.h"

#include <unordered_map>
#include <vector>

namespace gd::facts {

// Where people look for nodes of one process: the call that made a node, captured or added by hand. Where no
// stack of it was taken, or libraries alone made it (backward passes on a framework's own threads): where the
// capture began, else where the graph was created, instantiated, launched.
class NodePlaces {
public:
    NodePlaces(StackReader& stacks, const ProcessData& process);

    // A stack; 0 = nothing is known.
    Result<std::int64_t> of(const Node& node) { return first({ownStack(node)}, node); }
    // Of two nodes that belong together: the first one's place, else the second's.
    Result<std::int64_t> ofEither(const Node& node, const Node& other) {
        return first({ownStack(node), ownStack(other)}, node);
    }

private:
    std::int64_t ownStack(const Node& node) const;
    Result<std::int64_t> first(std::vector<std::int64_t> candidates, const Node& node);
    const Node& originOf(const Node& node) const;
    Result<bool> showsTheJob(std::int64_t stackId);

    StackReader& m_stacks;
    const ProcessData& m_process;
    std::unordered_map<std::int64_t, const Exec*> m_execs; // the first of a graph
    std::unordered_map<std::int64_t, bool> m_showsTheJob; // by stack
};

// Fills table node_place.
Result<void> buildNodePlace(FactContext& context);

} // namespace gd::facts
