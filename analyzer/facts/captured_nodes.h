// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/db.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gd::facts {

// What differs between two captured graphs, the strongest difference of any two nodes.
struct GraphChange {
    enum class Kind : std::uint8_t { same, pointers, values, sizes, topology };
    Kind kind = Kind::same;
    std::int64_t nodes = 0; // of the later graph
    std::int64_t changed = 0; // nodes that differ, by position
    std::string detail; // the first of the strongest, for people; empty when nothing differs
};

// "same", "pointers", "values", "sizes", "topology".
const char* changeName(GraphChange::Kind kind);

// The nodes of all captured graphs of one process, reduced to what makes graphs differ: kind and name of the
// work, its launch shape and size, scalar parameters, addresses.
class CapturedNodes {
public:
    static Result<CapturedNodes> read(Db& db, std::int64_t processId);

    // What differs in `capture` from the graph of `beforeCapture`; a capture without nodes is an empty graph.
    GraphChange compare(std::int64_t beforeCapture, std::int64_t capture) const;

private:
    struct Print {
        std::int64_t nodeId = 0;
        std::string name; // name of the work, else its type
        std::uint64_t size = 0;
        std::uint64_t values = 0;
        std::uint64_t pointers = 0;
    };

    std::map<std::int64_t, std::vector<Print>> m_byCapture; // in order of creation
};

} // namespace gd::facts
