// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gdt::faults {

/// What :PARAM of a fault means, with its default, and which numbers it may be. Nothing: none is taken.
struct FaultParameter {
    constexpr FaultParameter() = default;
    constexpr FaultParameter(std::string_view what, double from, double to, bool onlyWhole = false)
        : meaning(what)
        , least(from)
        , most(to)
        , whole(onlyWhole) { }

    std::string_view meaning;
    double least = 0, most = 0;
    bool whole = false;
};

/// Which graphs a fault needs to happen in or between.
enum class NeededGraphs {
    None,
    Passes, ///< of forward and backward passes
    Optimizer, ///< of the optimizer step, alone or with the passes
    OptimizerAlone,
};

/// One switchable mistake. The table in fault_table.cpp is the only list; --list-faults prints it.
struct FaultInfo {
    std::string_view id;
    std::string_view section; ///< of the source document that describes the mistake, "-" for real-life ones
    std::string_view title;
    std::vector<std::string_view> hooks; ///< places of the trainer where it acts
    std::vector<std::string_view> backends;
    std::vector<std::string_view>
        takes; ///< accepted after the id: param (of its meaning), step, layer, rank, harmless
    FaultParameter param{};
    NeededGraphs graphs = NeededGraphs::None;
    /// Rules that must name it, the first one on top; none: there is no rule yet.
    std::vector<std::string_view> rules;
    std::vector<std::string_view> args{}; ///< options of the trainer with which it shows
};

[[nodiscard]] std::span<const FaultInfo> registry();
[[nodiscard]] const FaultInfo* findFault(std::string_view id);

/// A fault as asked for on the command line: ID[:PARAM][@step=N][@layer=N][@rank=N][@harmless].
struct FaultSpec {
    std::string id;
    std::optional<double> param;
    std::optional<std::int64_t> step;
    std::optional<std::int64_t> layer;
    std::optional<std::int64_t> rank;
    bool harmless = false; ///< do the same thing the right way: nothing may be diagnosed
};

/// Fills `problem` with one sentence and returns nothing when the text is not a known fault.
[[nodiscard]] std::optional<FaultSpec> parseFault(std::string_view text, std::string& problem);

/// The table for people, or as a JSON array of {id, section, title, hooks, backends, args, takes,
/// param, param_range, rules}; param_range is [least, most] or null.
[[nodiscard]] std::string listFaults(bool json);

} // namespace gdt::faults
