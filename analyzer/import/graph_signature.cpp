// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/graph_signature.h"

#include <algorithm>

namespace gd::importer {

std::uint64_t hashMix(std::uint64_t hash, std::uint64_t value) {
    // Multiplier: 2^64 divided by the golden ratio. Signatures are stored in traces: never change this.
    hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
    hash *= 0x9e3779b97f4a7c15;
    return hash ^ (hash >> 29);
}

std::uint64_t hashText(std::string_view text) {
    // FNV-1a.
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return hash;
}

std::uint64_t graphSignature(const GraphShape& shape) {
    const std::size_t count = shape.labels.size();
    std::vector<std::vector<std::size_t>> after(count);
    std::vector<std::size_t> waitsFor(count, 0);
    for (const auto& [from, to] : shape.edges) {
        after[from].push_back(to);
        ++waitsFor[to];
    }
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < count; ++i) {
        if (waitsFor[i] == 0)
            ready.push_back(i);
    }
    std::vector<std::vector<std::uint64_t>> past(count);
    // Nodes of a cycle (damaged data) keep their label.
    std::vector<std::uint64_t> hashes = shape.labels;
    while (!ready.empty()) {
        const std::size_t node = ready.back();
        ready.pop_back();
        std::sort(past[node].begin(), past[node].end());
        std::uint64_t hash = hashMix(shape.labels[node], past[node].size());
        for (const std::uint64_t before : past[node])
            hash = hashMix(hash, before);
        hashes[node] = hash;
        for (const std::size_t next : after[node]) {
            past[next].push_back(hash);
            if (--waitsFor[next] == 0)
                ready.push_back(next);
        }
    }
    std::sort(hashes.begin(), hashes.end());
    std::uint64_t signature = hashMix(count, shape.edges.size());
    for (const std::uint64_t hash : hashes)
        signature = hashMix(signature, hash);
    return signature;
}

} // namespace gd::importer
