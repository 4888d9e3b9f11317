// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/captured_nodes.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

namespace gd::facts {
namespace {

using Kind = GraphChange::Kind;

std::uint64_t mix(std::uint64_t hash, std::int64_t value) {
    hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

// Hash per node over the rows of a query (node_id, then numbers), in the query's order.
Result<std::unordered_map<std::int64_t, std::uint64_t>> hashes(
    Db& db, const char* sql, std::int64_t processId, int columns) {
    GD_TRY_ASSIGN(Statement rows, db.prepare(sql));
    rows.bind(1, processId);
    std::unordered_map<std::int64_t, std::uint64_t> result;
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return result;
        std::uint64_t& hash = result[rows.int64(0)];
        for (int i = 1; i < columns; ++i)
            hash = mix(hash, rows.int64(i));
    }
}

} // namespace

const char* changeName(GraphChange::Kind kind) {
    switch (kind) {
    case Kind::same:
        return "same";
    case Kind::pointers:
        return "pointers";
    case Kind::values:
        return "values";
    case Kind::sizes:
        return "sizes";
    case Kind::topology:
        return "topology";
    }
    return "same";
}

Result<CapturedNodes> CapturedNodes::read(Db& db, std::int64_t processId) {
    GD_TRY_ASSIGN(auto pointers,
        hashes(db,
            "SELECT node_id, coalesce(param, -1), offset, address FROM node_pointer WHERE process_id = ? "
            "ORDER BY node_id, coalesce(param, -1), offset, address",
            processId, 4));
    GD_TRY_ASSIGN(auto values,
        hashes(db,
            "SELECT node_id, param, offset, value FROM node_scalar WHERE process_id = ? "
            "ORDER BY node_id, param, offset",
            processId, 4));
    GD_TRY_ASSIGN(Statement rows,
        db.prepare(
            "SELECT capture_id, node_id, coalesce(name, type), coalesce(shape_id, 0), coalesce(bytes, 0), "
            "coalesce(dst, 0), coalesce(src, 0) FROM graph_node WHERE process_id = ? AND capture_id IS NOT "
            "NULL AND graph_id IS NOT NULL ORDER BY capture_id, created_ns, node_id"));
    rows.bind(1, processId);
    CapturedNodes nodes;
    while (true) {
        GD_TRY_ASSIGN(const bool more, rows.step());
        if (!more)
            return nodes;
        Print print;
        print.nodeId = rows.int64(1);
        print.name = rows.text(2);
        print.size = mix(mix(0, rows.int64(3)), rows.int64(4));
        print.pointers = mix(mix(pointers[print.nodeId], rows.int64(5)), rows.int64(6));
        print.values = values[print.nodeId];
        nodes.m_byCapture[rows.int64(0)].push_back(std::move(print));
    }
}

GraphChange CapturedNodes::compare(std::int64_t beforeCapture, std::int64_t capture) const {
    static const std::vector<Print> kNone;
    const auto find = [&](std::int64_t id) -> const std::vector<Print>& {
        const auto found = m_byCapture.find(id);
        return found == m_byCapture.end() ? kNone : found->second;
    };
    const std::vector<Print>& before = find(beforeCapture);
    const std::vector<Print>& after = find(capture);
    GraphChange change;
    change.nodes = static_cast<std::int64_t>(after.size());
    const auto note = [&](Kind kind, std::string detail) {
        ++change.changed;
        if (kind > change.kind) {
            change.kind = kind;
            change.detail = std::move(detail);
        }
    };
    if (before.size() != after.size()) {
        note(Kind::topology, std::to_string(before.size()) + " nodes became " + std::to_string(after.size()));
        change.changed = 0;
    }
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
        const Print& old = before[i];
        const Print& now = after[i];
        const auto node = [&] { return "node " + std::to_string(i) + " (" + now.name + ")"; };
        if (old.name != now.name)
            note(Kind::topology, "node " + std::to_string(i) + ": " + old.name + " became " + now.name);
        else if (old.size != now.size)
            note(Kind::sizes, node() + " has another launch shape or size");
        else if (old.values != now.values)
            note(Kind::values, node() + " has other values");
        else if (old.pointers != now.pointers)
            note(Kind::pointers, node() + " points elsewhere");
    }
    const auto common = static_cast<std::int64_t>(std::min(before.size(), after.size()));
    change.changed += std::max(static_cast<std::int64_t>(before.size()), change.nodes) - common;
    return change;
}

} // namespace gd::facts
