// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/kernel_signature.h"
#include "analyzer/facts/nested_order.h"
#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace gd::facts {

// Memory that a node of a graph touches.
struct Access {
    enum class Role : std::uint8_t {
        reads,
        writes,
        uses
    }; // uses: a kernel's pointer, whatever it does with it
    std::int32_t node = 0; // index into ProcessData::nodes
    std::uint64_t address = 0;
    std::uint64_t bytes = 1; // 1 of kernels: how far they go is not known
    Role role = Role::uses;
    std::optional<std::int64_t> param; // kernel parameter index
    ParamUse declared = ParamUse::unknown; // of kernels
    std::uint64_t limit = 0; // of kernels: end of the allocation, 0 = unknown

    std::uint64_t end() const { return address + bytes; }
};

// What the nodes of a process's graphs touch, as captured: copies, fills, collectives and the pointers of
// kernels.
class GraphAccess {
public:
    static Result<GraphAccess> read(Db& db, const ProcessData& process);

    // By address; empty for graphs that touch nothing.
    const std::vector<Access>& of(std::int64_t graphId) const;
    // By address, with what child graphs and conditional bodies touch, the nodes being those of `graph`:
    // nodes made as copies touch what their originals do.
    std::vector<Access> inside(const NestedGraph& graph) const;
    // The node whose record says what this one does: its original, where it is a copy.
    std::int32_t describedBy(std::int32_t node) const;
    // Executables that were updated: their nodes touch something else than the template's.
    bool isUpdated(std::int64_t execId) const { return m_updated.contains(execId); }

private:
    const ProcessData* m_process = nullptr;
    std::unordered_map<std::int64_t, std::vector<Access>> m_byGraph;
    std::vector<bool> m_touches; // by node: it has accesses of its own
    std::int64_t m_lastParamsSetNs = 0; // when parameters of a graph's kernel were set last
    std::set<std::int64_t> m_updated;
};

} // namespace gd::facts
