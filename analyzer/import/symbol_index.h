// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

struct Dwfl_Module;

namespace gd::importer {

// The functions of an object file's symbol tables, by address. libdwfl's own search walks through the whole
// table for each address: 15 ms an address in a library of 600,000 symbols, and XLA's have more.
class SymbolIndex {
public:
    // Reads the tables once. Without symbols it is empty.
    explicit SymbolIndex(Dwfl_Module* module);

    // Name of the function around an address as the module has it (with its bias), as the table spells it;
    // null = none. A function without a size, as hand-written code has, reaches up to the next one. The name
    // belongs to the module.
    [[nodiscard]] const char* functionAt(std::uint64_t address) const;

private:
    struct Function {
        std::uint64_t from;
        std::uint64_t to; // = from where the table gives no size
        std::uint64_t furthestEnd; // of this one and all before it
        const char* name;
        int rank; // among the names of one address: the highest is taken
    };

    std::vector<Function> m_functions; // by address, then by rank
};

} // namespace gd::importer
