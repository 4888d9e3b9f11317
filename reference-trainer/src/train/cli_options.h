// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/emulation_options.h"
#include "train/run_config.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gdt::train {

/// Options that are not fields of RunConfig as they are typed.
struct RawOptions {
    std::string backend = "host";
    std::string dtype = "fp32";
    std::string mode = "manual";
    std::vector<std::string> scopes{"cycle", "optimizer"};
    std::string policy = "fallback";
    std::string guard; // empty: strict, unless a fault wants another
    std::string graphKey; // empty: as --graph-scope says
    bool scopeGiven = false;
    bool lossScaleGiven = false;
    std::string tensorComm = "inside";
    std::string ringLayout = "zigzag";
    EmulationOptions emulation;
    std::string schedule = "1f1b";
    std::string dataFormat = "bytes";
    std::size_t maxGraphs = 0;
    double graphCacheMiB = -1;
    std::string norm = "layer";
    std::string activation = "gelu";
    std::string recompute = "none";
    double lossScale = 65536;
    std::int64_t scaleWindow = 1000;
    bool untied = false;
    std::int64_t paddedVocab = 0;
    std::vector<std::string> faults;
    bool listFaults = false;
    bool json = false;
    bool noMarks = false;
};

/// The options that decide what is computed, as they were given or by default, one a line: what all ranks of
/// a job need alike. After parsing.
[[nodiscard]] std::string agreementOf(const CLI::App& app);

/// Declares all options of the program; parsing fills `config` and `raw`.
void addOptions(CLI::App& app, RunConfig& config, RawOptions& raw);

} // namespace gdt::train
