// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analyzer/base/result.h"
#include "collector/raw/control_page.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace gd::run {

std::optional<raw::RecordingLevel> levelFrom(std::string_view word); // light, standard, full
std::string_view levelName(raw::RecordingLevel level); // also off and history

// The control page of a spool folder, mapped for writing. The collector of every process of the job follows
// it within 50 ms.
class Control {
public:
    struct Start {
        raw::RecordingLevel level = raw::RecordingLevel::Standard;
        bool redact = false;
        bool countsFromNow = false; // windows in time count from this moment, not from each process's start
        std::string stepRange;
        std::string windows; // value of raw::kEnvWindow
    };
    // Makes the page; the magic is stored last, so that a reader sees all of it or nothing.
    static Result<Control> create(const std::filesystem::path& spool, const Start& start);
    // Opens the page of a running job: a plain file of this user.
    static Result<Control> open(const std::filesystem::path& spool);
    Control(Control&& other) noexcept;
    Control& operator=(Control&&) = delete;
    ~Control();

    void setLevel(raw::RecordingLevel level);
    raw::RecordingLevel level() const;

    // By hand, whatever windows the command line asked for: recording at the run's level, in a new window, or
    // at a lower one.
    void start();
    void stop(raw::RecordingLevel level);
    // Asks every process to write what it holds back; done within about 100 ms.
    // Number of the request: RingHeader::flushed of a process that has followed it.
    std::uint32_t requestFlush();

    std::uint32_t window() const;
    bool isManual() const;
    raw::RecordingLevel wantedLevel() const;
    std::uint32_t parentPid() const { return m_page->parentPid; }
    std::string stepRange() const;
    std::string windows() const; // of the command line, empty = none

private:
    explicit Control(raw::ControlPage* page)
        : m_page(page) { }

    raw::ControlPage* m_page;
};

} // namespace gd::run
