// SPDX-License-Identifier: Apache-2.0
#include "collector/session/range_path.h"

#include "collector/raw/spool_name.h"
#include "collector/session/session.h"

#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gd::session {

namespace {

/// The names by which frameworks and people call a training step (contracts: steps, method 2), as a POSIX
/// pattern.
constexpr char kUsualSteps[]
    = "^(step|iteration|train[_ ]?step|Iteration|ProfilerStep#[0-9]+|graphdoctor\\.step)([^[:alnum:]_]|$)";

void wakeKeeper(SessionState& session) noexcept {
    session.keeperWake.store(1, std::memory_order_release);
    syscall(SYS_futex, &session.keeperWake, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// The collector's own thread looks at the window every 50 ms. It is woken only to open it: closing may wait,
// and ranges that come by the thousand must not cost their thread a system call each.
void windowRangeBegins(SessionState& session) noexcept {
    session.windowRangesBegun.fetch_add(1, std::memory_order_seq_cst);
    if (session.windowIsOpen.load(std::memory_order_seq_cst) == 0
        && session.windowIsOpen.exchange(1, std::memory_order_seq_cst) == 0) {
        wakeKeeper(session);
    }
}

} // namespace

void openRangePatterns(SessionState& session) noexcept {
    session.stepPattern.open(getenv(raw::kEnvStepRange), kUsualSteps);
    if (session.window.isByRange()) {
        session.windowPattern.open(getenv(raw::kEnvWindowRange), nullptr);
    }
}

RangeRole roleOf(SessionState& session, raw::StringRef name, const char* text) noexcept {
    if (name == 0) {
        return {};
    }
    return {session.stepPattern.matches(name, text),
        session.window.isByRange() && session.windowPattern.matches(name, text)};
}

void beginUnbound(SessionState& session, std::uint64_t id, RangeRole role) noexcept {
    if (!role.opensWindow) {
        return;
    }
    {
        SpinGuard guard(session.windowStartsLock);
        std::uint8_t* open = session.windowStarts.insert(id);
        if (open == nullptr || *open != 0) {
            return;
        }
        *open = 1;
    }
    windowRangeBegins(session);
}

void endUnbound(SessionState& session, std::uint64_t id) noexcept {
    if (!session.window.isByRange()) {
        return;
    }
    SpinGuard guard(session.windowStartsLock);
    if (session.windowStarts.erase(id)) {
        session.windowRangesEnded.fetch_add(1, std::memory_order_release);
    }
}

void dropRanges(SessionState& session, ThreadState& thread) noexcept {
    for (unsigned i = 0; i < thread.openRangeCount && i < ThreadState::kMaxOpenRanges; ++i) {
        if (thread.openRanges[i].opensWindow) {
            session.windowRangesEnded.fetch_add(1, std::memory_order_release);
        }
        if (thread.openRanges[i].isStep) {
            session.openSteps.fetch_sub(1, std::memory_order_relaxed);
        }
    }
    thread.openRangeCount = 0;
}

void pushRange(SessionState& session, ThreadState& thread, raw::StringRef domain, raw::StringRef name,
    std::string_view text, RangeRole role) noexcept {
    if (thread.openRangeCount >= ThreadState::kMaxOpenRanges) {
        ++thread.openRangeCount;
        return;
    }
    std::size_t length
        = thread.openRangeCount == 0 ? 0 : thread.openRanges[thread.openRangeCount - 1].pathBytes;
    const auto append = [&](std::string_view piece) noexcept {
        const std::size_t room = sizeof thread.pathText - length;
        const std::size_t bytes = piece.size() < room ? piece.size() : room;
        if (bytes != 0) {
            std::memcpy(thread.pathText + length, piece.data(), bytes);
        }
        length += bytes;
    };
    append(length != 0 ? "/" : "");
    append(text);
    thread.openRanges[thread.openRangeCount++]
        = {domain, name, 0, static_cast<std::uint16_t>(length), role.isStep, role.opensWindow};
    if (role.opensWindow) {
        windowRangeBegins(session);
    }
}

bool popRange(SessionState& session, ThreadState& thread, raw::StringRef domain) noexcept {
    if (thread.openRangeCount > ThreadState::kMaxOpenRanges) {
        --thread.openRangeCount;
        return false;
    }
    for (unsigned i = thread.openRangeCount; i-- > 0;) {
        if (thread.openRanges[i].domain == domain) {
            const bool isStep = thread.openRanges[i].isStep;
            if (thread.openRanges[i].opensWindow) {
                session.windowRangesEnded.fetch_add(1, std::memory_order_release);
            }
            for (unsigned j = i; j + 1 < thread.openRangeCount; ++j) {
                thread.openRanges[j] = thread.openRanges[j + 1];
            }
            --thread.openRangeCount;
            return isStep;
        }
    }
    return false;
}

void stepEnded(SessionState& session, const ThreadState& thread) noexcept {
    const unsigned depth = thread.openRangeCount < ThreadState::kMaxOpenRanges ? thread.openRangeCount
                                                                               : ThreadState::kMaxOpenRanges;
    for (unsigned i = 0; i < depth; ++i) {
        if (thread.openRanges[i].isStep) {
            return;
        }
    }
    const std::uint64_t ended = session.stepsEnded.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (session.window.turnsAt(ended)) {
        wakeKeeper(session);
    }
}

raw::StringRef nameOfTheJob(SessionState& session, std::string_view text) noexcept {
    const raw::StringRef name = session.strings.name(text);
    if (session.strings.namesLeftOut() != 0 && session.saidNamesLeftOut.exchange(1) == 0) {
        writeIssue(session, raw::IssueSeverity::Info, "range_names_left_out",
            "the job made up more names of ranges than are kept (16 MiB): further ones stand with 0 for each "
            "digit");
    }
    return name;
}

raw::StringRef rangePath(SessionState& session, ThreadState& thread) noexcept {
    if (thread.openRangeCount == 0) {
        return 0;
    }
    const unsigned depth = thread.openRangeCount < ThreadState::kMaxOpenRanges ? thread.openRangeCount
                                                                               : ThreadState::kMaxOpenRanges;
    OpenRange& range = thread.openRanges[depth - 1];
    if (range.path == 0) {
        range.path = nameOfTheJob(session, {thread.pathText, range.pathBytes});
    }
    return range.path;
}

} // namespace gd::session
