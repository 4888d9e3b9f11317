// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace gd::importer {

// One function at an address; empty and 0 = unknown.
struct SymbolFrame {
    std::string function; // demangled
    std::string file;
    std::uint32_t line = 0;
    bool inlined = false; // an inlined call inside the next frame
};

// An object file as the process had it mapped.
struct ModuleKey {
    std::string path;
    std::string buildId; // lower-case hex, empty = none
};

// Turns addresses in object files into functions and lines; with SymbolIndex the only user of libdw. Works on
// the files of this machine and never fails: a file that is missing, or whose build id is another one, gives
// no frames. Names come from DWARF where there is some, else from the symbol tables; separate debug files are
// found by build id below /usr/lib/debug. Each file is opened once. Belongs to one thread; never asks the
// network.
class Symbolizer {
public:
    enum class ModuleState { usable, missing, otherBuild };

    Symbolizer();
    ~Symbolizer();
    Symbolizer(const Symbolizer&) = delete;
    Symbolizer& operator=(const Symbolizer&) = delete;

    // Frames at a return address (file address = address minus load bias), innermost first: the call is the
    // instruction before it. Empty when nothing is known.
    const std::vector<SymbolFrame>& resolve(const ModuleKey& module, std::uint64_t returnAddress);
    ModuleState stateOf(const ModuleKey& module);

private:
    struct Module;
    Module& open(const ModuleKey& key);

    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace gd::importer
