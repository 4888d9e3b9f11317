// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trainer_run.h"

#include <optional>
#include <string>
#include <vector>

namespace gdt::bench {

/// What of a row is real.
enum class Nature {
    Native, ///< the trainer as it is
    Emulated, ///< a host that loses time at each call, as under a framework
    Modelled, ///< one rank of a job whose peers and network are a model, with the emulated host
};

[[nodiscard]] const char* natureName(Nature nature);

struct Row {
    std::string what;
    Nature nature = Nature::Native;
    std::vector<std::string> arguments; ///< of the trainer
    std::string document; ///< what the source document has in this place; empty: nothing
    int baseline = -1; ///< row whose tokens/s this one's are compared with; -1: none
    bool recorded = false; ///< also run under graphdoctor, for busy and communication shares
};

struct Table {
    std::string id, title;
    std::vector<Row> rows;
    std::vector<std::string> notes;
    Windows windows;
};

struct Settings {
    bool cuda = false;
    bool full = false; ///< the document's model sizes; else toys that take seconds on a CPU
    double overheadUs = 12; ///< of the emulated rows
};

/// Table `id` ("5.1" to "5.5"), none when there is no such table.
[[nodiscard]] std::optional<Table> makeTable(const std::string& id, const Settings& settings);

} // namespace gdt::bench
