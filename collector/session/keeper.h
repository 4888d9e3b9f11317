// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collector/session/hooks.h"
#include "collector/session/overhead_windows.h"
#include "collector/session/session_state.h"
#include "collector/stacks/module_table.h"
#include "collector/stacks/python_runtime.h"

#include <cstdint>

namespace gd::session {

/// The collector's own thread: writes the process's facts, watches the control page and loaded modules,
/// renames threads, and calls the hooks of the sources, every 50 ms, or at once
/// when a step opens or closes the recording window.
class Keeper {
public:
    explicit Keeper(SessionState& session) noexcept
        : m_session(session) { }
    bool start() noexcept;

private:
    static void* run(void* self) noexcept;
    void loop() noexcept;
    void does(raw::Doing what) noexcept;
    void greetSources(bool onlyQuick) noexcept;
    void rest() noexcept;
    void pollControlPage() noexcept;
    void followLevel(std::int64_t nowNs) noexcept;
    bool anyWindowRange() noexcept;
    bool pausesForOverhead(std::int64_t nowNs) noexcept;
    void tickSources(std::int64_t nowNs) noexcept;
    void setLevel(raw::RecordingLevel level, std::uint32_t window) noexcept;
    void changeLevel(raw::RecordingLevel level, std::uint32_t window) noexcept;
    void writeControlState() noexcept;
    void pollModules(bool first) noexcept;
    void sayPython() noexcept;
    void renameThreads() noexcept;
    void writeCounters(std::int64_t nowNs) noexcept;

    SessionState& m_session;
    stacks::ModuleTable m_modules;
    const stacks::PythonRuntime* m_python = nullptr;
    bool m_isGreeted[kMaxSources] = {};
    std::uint32_t m_generation = 0;
    std::uint32_t m_flush = 0;
    std::uint32_t m_window = 0; ///< last one written
    std::uint32_t m_pageWindow = 0; ///< number on the control page
    std::uint32_t m_opened = 0; ///< windows that the command line opened
    raw::RecordingLevel m_wanted = raw::RecordingLevel::Off;
    raw::RecordingLevel m_level = raw::RecordingLevel::Off;
    std::uint64_t m_windowRanges = 0; ///< that had begun at the last look
    std::int64_t m_tickNs = 0;
    OverheadWindows m_overhead;
    const char* m_saidBarredBy = nullptr;
    std::uint64_t m_queriesLeftOut = 0;
    std::uint64_t m_stacksLeftOut = 0;
    std::uint64_t m_namesLeftOut = 0;
    std::uint64_t m_shapesLeftOut = 0;
};

} // namespace gd::session
