// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/run/job_identity.h"

#include <string>
#include <utility>
#include <vector>

namespace gd::run {

// What the collector library offers, read from its symbol names without loading it.
struct CollectorLibrary {
    std::string path;
    bool exists = false;
    bool cudaInjection = false; // InitializeInjection
    bool nvtxInjection = false; // InitializeInjectionNvtx2
    bool ncclPlugin = false; // ncclProfiler_v*
    bool runtimeTable = false; // graphdoctor_runtime_attach
};
CollectorLibrary inspectCollector(const std::string& path);

struct EnvironmentWish {
    CollectorLibrary collector;
    std::string spool; // absolute
    std::string remoteSpool; // absolute, for processes of the job on other hosts
    std::string host;
    std::string level;
    std::string stepRange; // empty = none
    std::string windows; // value of raw::kEnvWindow, empty = none
    std::string frameworkHooks = "off"; // raw::kEnvFrameworkHooks
    std::string withProfiler = "keep"; // raw::kEnvWithProfiler
    std::string pythonEntry; // folder for PYTHONPATH, empty = none
    std::string windowRange; // --window, empty = none
    std::string limits; // value of raw::kEnvLimits, empty = none
    std::string overhead; // value of raw::kEnvOverhead, empty = none
};

// Variables of another tool that keep their value: what they would have given is not recorded.
struct KeptVariable {
    std::string name;
    std::string value;
    std::string lost; // "CUDA calls and device activity"
};

struct EnvironmentPlan {
    std::vector<std::pair<std::string, std::string>> set;
    std::vector<std::string> unset; // ours from an outer run that must not leak into this one
    std::vector<KeptVariable> kept;
};

// The same pattern for POSIX extended matching: \d and (?: are written out. What else differs between the two
// dialects (look-ahead, lazy repeats) stays as it is.
std::string posixPattern(std::string_view ecmaScript);

// What the job's environment needs so that every process of it, grandchildren too, loads the collector.
EnvironmentPlan planEnvironment(const EnvironmentWish& wish, const ReadVariable& read);

// This process's environment with the plan applied, as "NAME=value".
std::vector<std::string> environmentWith(const EnvironmentPlan& plan);

// In quotes where a POSIX shell needs them.
std::string shellWord(std::string_view text);
std::string shellCommand(const std::vector<std::string>& words);

} // namespace gd::run
