// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/symbol_index.h"

#include <elfutils/libdwfl.h>

#include <algorithm>
#include <iterator>
#include <tuple>

namespace gd::importer {
namespace {

// Aliases of one address: what other files may call names it best.
int rankOf(const GElf_Sym& symbol) {
    switch (GELF_ST_BIND(symbol.st_info)) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE:
        return 2;
    case STB_WEAK:
        return 1;
    default:
        return 0;
    }
}

} // namespace

SymbolIndex::SymbolIndex(Dwfl_Module* module) {
    const int count = dwfl_module_getsymtab(module);
    for (int i = 1; i < count; ++i) { // the first is the null symbol
        GElf_Sym symbol{};
        GElf_Addr address = 0;
        GElf_Word section = SHN_UNDEF;
        const char* name = dwfl_module_getsym_info(module, i, &symbol, &address, &section, nullptr, nullptr);
        const int type = GELF_ST_TYPE(symbol.st_info);
        if (name == nullptr || *name == '\0' || section == SHN_UNDEF
            || (type != STT_FUNC && type != STT_GNU_IFUNC))
            continue;
        m_functions.push_back({address, address + symbol.st_size, 0, name, rankOf(symbol)});
    }
    // A size beats none; otherwise the table's first name of an address stays the first.
    std::stable_sort(m_functions.begin(), m_functions.end(), [](const Function& a, const Function& b) {
        return std::tuple(a.from, b.to > b.from, b.rank) < std::tuple(b.from, a.to > a.from, a.rank);
    });
    std::uint64_t furthestEnd = 0;
    for (Function& function : m_functions) {
        furthestEnd = std::max(furthestEnd, function.to);
        function.furthestEnd = furthestEnd;
    }
}

const char* SymbolIndex::functionAt(std::uint64_t address) const {
    auto behind = std::upper_bound(m_functions.begin(), m_functions.end(), address,
        [](std::uint64_t wanted, const Function& function) { return wanted < function.from; });
    if (behind == m_functions.begin())
        return nullptr;
    // All names of the nearest address below, the best first; then further down while one may reach as far.
    const std::uint64_t nearest = std::prev(behind)->from;
    const auto first = std::lower_bound(m_functions.begin(), behind, nearest,
        [](const Function& function, std::uint64_t wanted) { return function.from < wanted; });
    for (auto found = first; found != behind; ++found) {
        if (address < found->to || found->to == found->from)
            return found->name;
    }
    for (auto before = first; before != m_functions.begin() && address < std::prev(before)->furthestEnd;) {
        --before;
        if (address < before->to)
            return before->name;
    }
    return nullptr;
}

} // namespace gd::importer
