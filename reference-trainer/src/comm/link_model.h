// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gdt::comm {

/// Slower links than this make no network: a message of a small model would take minutes.
constexpr double kLeastGigabytesPerSecond = 0.001;

/// What an operation costs on one kind of link.
struct LinkCost {
    double alphaUs = 0; ///< each operation
    double gigabytesPerSecond = 1; ///< 10^9 bytes that a rank sends a second

    /// For example "5.0 us + bytes / 370 GB/s".
    [[nodiscard]] std::string text() const;
};

/// A made-up network. The figures are assumptions, of NVLink and of one 400 Gb/s adapter for each GPU, not
/// measurements.
struct NetworkModel {
    LinkCost withinNode{5, 370};
    LinkCost betweenNodes{12, 45};
    int ranksPerNode = 8;

    /// The link of a group of job ranks: the slower one as soon as two of them are on different nodes.
    [[nodiscard]] const LinkCost& linkOf(const std::vector<int>& jobRanks) const;
    [[nodiscard]] bool spansNodes(const std::vector<int>& jobRanks) const;
};

/// Time of one operation of `kind` (gd_rt_comm_kind) among `ranks`: alpha + bytes sent / beta, with the bytes
/// that a rank of a ring sends. `messageBytes` is what the rank passes to the call, as in CommArguments.
[[nodiscard]] std::int64_t modelledNs(
    std::uint32_t kind, std::uint64_t messageBytes, int ranks, const LinkCost& link);

} // namespace gdt::comm
