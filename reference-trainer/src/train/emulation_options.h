// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "train/run_config.h"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace gdt::train {

/// The options that replace a part of reality: peers by a network model, a framework by waiting.
class EmulationOptions {
public:
    /// Both must live until the command line is parsed.
    void add(CLI::App& app, RunConfig& config);
    /// Puts what was read into `config`, whose layout is final; one sentence when it makes no sense.
    [[nodiscard]] std::string apply(RunConfig& config) const;

private:
    std::string m_comm = "real";
    std::vector<double> m_stalls{0, 0};
    std::vector<double> m_withinNode{5, 370}, m_betweenNodes{12, 45};
};

} // namespace gdt::train
