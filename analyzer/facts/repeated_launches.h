// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/facts/raw_data.h"

#include <cstdint>
#include <unordered_map>

namespace gd::facts {

struct Repeats {
    std::int64_t count = 0;
    const Replay* first = nullptr; // null none
};

// Launches of executables directly after one of their own: no other one was launched in between, nor any
// kernel.
class RepeatedLaunches {
public:
    explicit RepeatedLaunches(const ProcessData& process);
    Repeats of(const Exec& exec) const;

private:
    std::unordered_map<std::int64_t, Repeats> m_byExec;
};

} // namespace gd::facts
