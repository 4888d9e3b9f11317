// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include "analyzer/base/time.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gd::cli {

using namespace std::chrono_literals;

namespace {

// One that knows no escape sequences: a line that is drawn again would be a hundred lines.
bool isDumbTerminal() {
    const char* name = std::getenv("TERM");
    return name != nullptr && std::string_view(name) == "dumb";
}

} // namespace

Progress::Progress(std::string_view what)
    : m_what(what)
    , m_terminal(isatty(STDERR_FILENO) == 1 && !isDumbTerminal())
    , m_start(std::chrono::steady_clock::now())
    , m_last(m_start) { }

Progress::~Progress() {
    if (m_shown)
        std::fputs("\r\x1b[K", stderr);
}

void Progress::update(std::uint64_t doneBytes, std::uint64_t totalBytes) {
    if (!m_terminal)
        return;
    const auto now = std::chrono::steady_clock::now();
    if (now - m_start < 500ms || now - m_last < 100ms)
        return;
    m_last = now;
    m_shown = true;
    std::fputs(fmt::format("\r{}\x1b[K", line(m_what, doneBytes, totalBytes, now - m_start)).c_str(), stderr);
    std::fflush(stderr);
}

std::string Progress::line(std::string_view what, std::uint64_t doneBytes, std::uint64_t totalBytes,
    std::chrono::nanoseconds elapsed) {
    const auto bytes = [](double value) { return base::formatBytes(static_cast<std::int64_t>(value)); };
    const double seconds = std::chrono::duration<double>(elapsed).count();
    const double rate = seconds > 0 ? static_cast<double>(doneBytes) / seconds : 0;
    const std::uint64_t left = totalBytes > doneBytes ? totalBytes - doneBytes : 0;
    const std::uint64_t percent
        = totalBytes > 0 ? std::min<std::uint64_t>(100, doneBytes * 100 / totalBytes) : 0;
    const std::string done = bytes(static_cast<double>(doneBytes));
    const std::string total = bytes(static_cast<double>(totalBytes));
    if (rate <= 0)
        return fmt::format("{}: {} of {} ({} %), {}/s", what, done, total, percent, bytes(rate));
    return fmt::format("{}: {} of {} ({} %), {}/s, {} left", what, done, total, percent, bytes(rate),
        base::formatDuration(static_cast<std::int64_t>(static_cast<double>(left) / rate * 1e9)));
}

} // namespace gd::cli
