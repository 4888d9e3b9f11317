// SPDX-License-Identifier: Apache-2.0
#include "analyzer/import/symbolizer.h"

#include "analyzer/base/unique_handle.h"
#include "analyzer/import/string_pool.h"
#include "analyzer/import/symbol_index.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <unordered_map>

namespace gd::importer {
namespace {

using Session = base::UniqueHandle<Dwfl*, dwfl_end>;

std::string hex(const unsigned char* bytes, int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
        text += fmt::format("{:02x}", bytes[i]);
    return text;
}

// Never needed: modules are reported with their file.
int findNothing(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**) {
    return -1;
}

// libdwfl's own callback would ask debuginfod servers; a report must not depend on the network.
int findDebugInfo(Dwfl_Module* module, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word,
    char** foundPath) {
    const unsigned char* bits = nullptr;
    GElf_Addr address = 0;
    const int size = dwfl_module_build_id(module, &bits, &address);
    if (size <= 1)
        return -1;
    const std::string id = hex(bits, size);
    const std::string path
        = fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", id.substr(0, 2), id.substr(2));
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        *foundPath = ::strdup(path.c_str());
    return fd;
}

const Dwfl_Callbacks& callbacks() {
    static const Dwfl_Callbacks made = [] {
        Dwfl_Callbacks value{};
        value.find_elf = findNothing;
        value.find_debuginfo = findDebugInfo;
        value.section_address = dwfl_offline_section_address;
        return value;
    }();
    return made;
}

std::string nameOf(Dwarf_Die* die) {
    // The linkage name carries namespaces and arguments; it may hang on the declaration.
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
        Dwarf_Attribute found;
        if (dwarf_attr_integrate(die, attribute, &found) != nullptr) {
            if (const char* name = dwarf_formstring(&found); name != nullptr)
                return demangled(name);
        }
    }
    const char* name = dwarf_diename(die);
    return name == nullptr ? std::string() : std::string(name);
}

// Build trees name their sources as /build/../src/file: "..", too, goes by the letter of the path, since the
// file is perhaps not on this machine.
std::string absolute(std::string_view file, Dwarf_Die* unit) {
    if (file.empty())
        return {};
    std::filesystem::path path(file);
    if (path.is_relative()) {
        Dwarf_Attribute attribute;
        if (const char* folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute)))
            path = folder / path;
    }
    return path.lexically_normal().string();
}

// Of the sections, where a file has them: some linkers put its headers and constants, from address 0 on, into
// the segment of the code.
std::vector<std::pair<std::uint64_t, std::uint64_t>> executableRanges(Elf* elf) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    if (elf == nullptr)
        return ranges;
    for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
         section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) != nullptr
            && (header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR))
            ranges.emplace_back(header.sh_addr, header.sh_addr + header.sh_size);
    }
    std::size_t count = 0;
    if (!ranges.empty() || elf_getphdrnum(elf, &count) != 0)
        return ranges;
    for (int i = 0; i < static_cast<int>(count); ++i) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf, i, &segment) != nullptr && segment.p_type == PT_LOAD
            && (segment.p_flags & PF_X) != 0)
            ranges.emplace_back(segment.p_vaddr, segment.p_vaddr + segment.p_memsz);
    }
    return ranges;
}

} // namespace

struct Symbolizer::Module {
    // Address ranges of all compile units: for files without .debug_aranges, which clang does not write.
    struct UnitRange {
        Dwarf_Addr from;
        Dwarf_Addr to;
        Dwarf_Die unit;
    };

    ModuleState state = ModuleState::missing;
    Session session;
    Dwfl_Module* module = nullptr;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> code; // executable file addresses
    std::optional<std::vector<UnitRange>> units;
    std::optional<SymbolIndex> symbols;
    std::unordered_map<std::uint64_t, std::vector<SymbolFrame>> frames; // by return address

    void resolve(std::uint64_t fileAddress, std::vector<SymbolFrame>& out);
    Dwarf_Die* unitAt(Dwarf_Addr address, Dwarf_Addr& bias, Dwarf_Die& storage);
    void addScopes(Dwarf_Die* unit, Dwarf_Addr address, std::vector<SymbolFrame>& out);
    void indexUnits();
};

struct Symbolizer::State {
    std::map<std::pair<std::string, std::string>, Module> modules;
};

Symbolizer::Symbolizer()
    : m_state(std::make_unique<State>()) { }
Symbolizer::~Symbolizer() = default;

Symbolizer::Module& Symbolizer::open(const ModuleKey& key) {
    const auto [found, isNew] = m_state->modules.try_emplace({key.path, key.buildId});
    Module& module = found->second;
    if (!isNew)
        return module;
    // Only plain files: a path from a trace may name a pipe or a device.
    struct stat info { };
    if (key.path.empty() || ::stat(key.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode))
        return module;
    module.session.reset(dwfl_begin(&callbacks()));
    if (!module.session)
        return module;
    dwfl_report_begin(module.session.get());
    module.module = dwfl_report_offline(module.session.get(), key.path.c_str(), key.path.c_str(), -1);
    dwfl_report_end(module.session.get(), nullptr, nullptr);
    if (module.module == nullptr)
        return module;
    // Makes the main file known; the build id is read from it.
    GElf_Addr bias = 0;
    module.code = executableRanges(dwfl_module_getelf(module.module, &bias));
    const unsigned char* bits = nullptr;
    GElf_Addr address = 0;
    const int size = dwfl_module_build_id(module.module, &bits, &address);
    const std::string buildId = size > 0 ? hex(bits, size) : std::string();
    const bool same = key.buildId.empty() || buildId == key.buildId;
    module.state = same ? ModuleState::usable : ModuleState::otherBuild;
    return module;
}

Symbolizer::ModuleState Symbolizer::stateOf(const ModuleKey& key) {
    return open(key).state;
}

const std::vector<SymbolFrame>& Symbolizer::resolve(const ModuleKey& key, std::uint64_t returnAddress) {
    Module& module = open(key);
    const auto [found, isNew] = module.frames.try_emplace(returnAddress);
    if (isNew && module.state == ModuleState::usable && returnAddress != 0)
        module.resolve(returnAddress - 1, found->second);
    return found->second;
}

void Symbolizer::Module::indexUnits() {
    units.emplace();
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = dwfl_module_nextcu(module, nullptr, &bias); unit != nullptr;
         unit = dwfl_module_nextcu(module, unit, &bias)) {
        Dwarf_Addr base = 0;
        Dwarf_Addr from = 0;
        Dwarf_Addr to = 0;
        for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &from, &to)) > 0;)
            units->push_back({from + bias, to + bias, *unit});
    }
    std::sort(
        units->begin(), units->end(), [](const UnitRange& a, const UnitRange& b) { return a.from < b.from; });
}

Dwarf_Die* Symbolizer::Module::unitAt(Dwarf_Addr address, Dwarf_Addr& bias, Dwarf_Die& storage) {
    if (Dwarf_Die* unit = dwfl_module_addrdie(module, address, &bias); unit != nullptr)
        return unit;
    if (dwfl_module_getdwarf(module, &bias) == nullptr)
        return nullptr;
    if (!units)
        indexUnits();
    auto behind = std::upper_bound(units->begin(), units->end(), address,
        [](Dwarf_Addr wanted, const UnitRange& range) { return wanted < range.from; });
    if (behind == units->begin() || address >= std::prev(behind)->to)
        return nullptr;
    storage = std::prev(behind)->unit;
    return &storage;
}

// The scopes around an address, innermost first: each inlined call gives a frame whose function is the
// inlined one; the line of the frame around it is where the call was.
void Symbolizer::Module::addScopes(Dwarf_Die* unit, Dwarf_Addr address, std::vector<SymbolFrame>& out) {
    std::string file;
    int line = 0;
    if (Dwarf_Line* source = dwarf_getsrc_die(unit, address); source != nullptr) {
        dwarf_lineno(source, &line);
        const char* name = dwarf_linesrc(source, nullptr, nullptr);
        file = absolute(name == nullptr ? "" : name, unit);
    }
    // dwarf_getscopes goes on from an inlined function into the place of its definition; the callers are the
    // parents in the tree.
    Dwarf_Die* around = nullptr;
    const int depth = dwarf_getscopes(unit, address, &around);
    const std::unique_ptr<Dwarf_Die, void (*)(void*)> aroundOwner(around, std::free);
    Dwarf_Die* scopes = nullptr;
    const int count = depth > 0 ? dwarf_getscopes_die(&around[0], &scopes) : 0;
    const std::unique_ptr<Dwarf_Die, void (*)(void*)> owner(scopes, std::free);
    Dwarf_Files* files = nullptr;
    std::size_t fileCount = 0;
    dwarf_getsrcfiles(unit, &files, &fileCount);
    const auto number = [](Dwarf_Die* die, unsigned attribute) {
        Dwarf_Attribute found;
        Dwarf_Word value = 0;
        return dwarf_formudata(dwarf_attr(die, attribute, &found), &value) == 0 ? value : 0;
    };
    for (int i = 0; i < count; ++i) {
        Dwarf_Die* scope = &scopes[i];
        const int tag = dwarf_tag(scope);
        if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
            continue;
        const bool inlined = tag == DW_TAG_inlined_subroutine;
        out.push_back({nameOf(scope), file, static_cast<std::uint32_t>(std::max(line, 0)), inlined});
        if (!inlined)
            break;
        const std::size_t callFile = number(scope, DW_AT_call_file);
        const char* name = files != nullptr && callFile < fileCount
            ? dwarf_filesrc(files, callFile, nullptr, nullptr)
            : nullptr;
        file = absolute(name == nullptr ? "" : name, unit);
        line = static_cast<int>(number(scope, DW_AT_call_line));
    }
    if (out.empty() && !file.empty())
        out.push_back({std::string(), file, static_cast<std::uint32_t>(std::max(line, 0)), false});
}

void Symbolizer::Module::resolve(std::uint64_t fileAddress, std::vector<SymbolFrame>& out) {
    GElf_Addr loadBias = 0;
    const bool isCode = std::any_of(code.begin(), code.end(), [fileAddress](const auto& range) {
        return fileAddress >= range.first && fileAddress < range.second;
    });
    // Functions that the linker threw away keep their description, at address 0.
    if (!isCode || dwfl_module_getelf(module, &loadBias) == nullptr)
        return;
    const Dwarf_Addr address = fileAddress + loadBias;
    Dwarf_Addr bias = 0;
    Dwarf_Die storage;
    if (Dwarf_Die* unit = unitAt(address, bias, storage); unit != nullptr)
        addScopes(unit, address - bias, out);
    if (!out.empty() && !out.back().function.empty())
        return;
    if (!symbols)
        symbols.emplace(module);
    const char* name = symbols->functionAt(address);
    if (name == nullptr)
        return;
    if (out.empty())
        out.emplace_back();
    out.back().function = demangled(name);
}

} // namespace gd::importer
