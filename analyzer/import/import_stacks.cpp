// SPDX-License-Identifier: Apache-2.0
// Tables module, stack, stack_frame. Last of all: only stacks that a row points to are kept.
#include "analyzer/import/import_context.h"
#include "analyzer/import/symbolizer.h"

#include <algorithm>
#include <set>
#include <vector>

namespace gd::importer {
namespace {

struct LoadedModule {
    raw::Module record{};
    ModuleKey key;
    std::string shownPath; // redacted where wanted
};

class Modules {
public:
    explicit Modules(ProcessImport& process)
        : m_process(process) {
        for (const raw::Module& record : process.raw().modules) {
            LoadedModule module;
            module.record = record;
            module.key.path = process.rawText(record.path);
            module.key.buildId = process.rawText(record.buildId);
            module.shownPath = process.job().cleaner.clean(module.key.path);
            m_modules.push_back(std::move(module));
        }
        std::stable_sort(m_modules.begin(), m_modules.end(),
            [](const LoadedModule& a, const LoadedModule& b) { return a.record.from < b.record.from; });
    }

    // An address belongs to the module that was mapped last at that place.
    const LoadedModule* find(std::uint64_t address) const {
        auto behind = std::upper_bound(m_modules.begin(), m_modules.end(), address,
            [](std::uint64_t wanted, const LoadedModule& module) { return wanted < module.record.from; });
        const LoadedModule* best = nullptr;
        // Ranges of one moment do not overlap; a few older ones may.
        for (int i = 0; i < 16 && behind != m_modules.begin(); ++i) {
            --behind;
            const bool covers = address < behind->record.to;
            if (covers && (best == nullptr || behind->record.timeNs > best->record.timeNs))
                best = &*behind;
        }
        return best;
    }

    Result<void> write() {
        GD_TRY_ASSIGN(Statement insert,
            m_process.db().prepare("INSERT INTO module(process_id, path, build_id, base, from_address, "
                                   "to_address, first_ns) VALUES (?, ?, ?, ?, ?, ?, ?)"));
        for (const LoadedModule& module : m_modules) {
            const auto buildId = module.key.buildId.empty()
                ? std::nullopt
                : std::optional(m_process.job().cleaner.clean(module.key.buildId));
            GD_TRY(insert.runWith(m_process.processId(), module.shownPath, buildId, bits(module.record.base),
                bits(module.record.from), bits(module.record.to), m_process.time(module.record.timeNs)));
        }
        return {};
    }

private:
    ProcessImport& m_process;
    std::vector<LoadedModule> m_modules; // by first address
};

class FrameWriter {
public:
    FrameWriter(ProcessImport& process, Statement insert)
        : m_process(process)
        , m_insert(std::move(insert)) { }

    Result<void> python(std::int64_t stack, const StackRecord& record) {
        std::int64_t position = 0;
        for (const raw::PythonFrame& frame : record.python) {
            const auto line = idOrNull(frame.line);
            GD_TRY(m_insert.runWith(stack, "python", position++, m_process.text(frame.function),
                m_process.text(frame.file), line, nullptr, nullptr, nullptr, 0));
        }
        return {};
    }

    Result<void> native(std::int64_t stack, const StackRecord& record, const Modules& modules) {
        std::int64_t position = 0;
        for (const std::uint64_t address : record.native) {
            const LoadedModule* module = modules.find(address);
            if (module == nullptr) {
                GD_TRY(m_insert.runWith(stack, "native", position++, nullptr, nullptr, nullptr, nullptr,
                    bits(address), nullptr, 0));
                continue;
            }
            noteModule(*module);
            const std::uint64_t offset = address - module->record.base;
            std::vector<SymbolFrame> frames = m_process.job().symbolizer.resolve(module->key, offset);
            if (frames.empty())
                frames.emplace_back();
            for (const SymbolFrame& frame : frames) {
                GD_TRY(m_insert.runWith(stack, "native", position++, textOrNull(frame.function),
                    textOrNull(frame.file), idOrNull(frame.line), module->shownPath, bits(address),
                    bits(offset), frame.inlined ? 1 : 0));
            }
        }
        return {};
    }

    void reportModules() {
        for (const auto& [path, reason] : m_withoutNames)
            m_process.issues().info("module_not_readable", 1,
                fmt::format("{}: {}; its frames have neither function nor line", path, reason));
    }

private:
    std::optional<std::string> textOrNull(const std::string& text) {
        return text.empty() ? std::nullopt : std::optional(m_process.job().cleaner.clean(text));
    }
    void noteModule(const LoadedModule& module) {
        // "[vdso]" and the like are no files.
        if (!module.key.path.starts_with("/"))
            return;
        switch (m_process.job().symbolizer.stateOf(module.key)) {
        case Symbolizer::ModuleState::usable:
            return;
        case Symbolizer::ModuleState::missing:
            m_withoutNames.emplace(module.key.path, "the file is not on this machine or is no object file");
            return;
        case Symbolizer::ModuleState::otherBuild:
            m_withoutNames.emplace(
                module.key.path, "the file was replaced since the job ran (another build id)");
            return;
        }
    }

    ProcessImport& m_process;
    Statement m_insert;
    std::map<std::string, std::string> m_withoutNames;
};

} // namespace

Result<void> importStacks(ProcessImport& process) {
    Modules modules(process);
    GD_TRY(modules.write());
    GD_TRY_ASSIGN(
        Statement stack, process.db().prepare("INSERT INTO stack(stack_id, process_id) VALUES (?, ?)"));
    GD_TRY_ASSIGN(Statement frame,
        process.db().prepare(
            "INSERT INTO stack_frame(stack_id, language, position, function, file, line, "
            "module, address, module_offset, inlined) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    FrameWriter writer(process, std::move(frame));
    for (const auto& [ref, id] : process.stackIds()) {
        const StackRecord& record = process.raw().stacks.at(ref);
        GD_TRY(stack.runWith(id, process.processId()));
        GD_TRY(writer.python(id, record));
        GD_TRY(writer.native(id, record, modules));
    }
    writer.reportModules();
    return {};
}

} // namespace gd::importer
