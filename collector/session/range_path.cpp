// SPDX-License-Identifier: Apache-2.0
#include "collector/session/range_path.h"

#include "collector/raw/spool_name.h"

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

} // namespace

void pushRange(ThreadState& thread, raw::StringRef domain, raw::StringRef name, std::string_view text,
    bool isStep) noexcept {
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
        = {domain, name, 0, static_cast<std::uint16_t>(length), isStep};
}

bool popRange(ThreadState& thread, raw::StringRef domain) noexcept {
    if (thread.openRangeCount > ThreadState::kMaxOpenRanges) {
        --thread.openRangeCount;
        return false;
    }
    for (unsigned i = thread.openRangeCount; i-- > 0;) {
        if (thread.openRanges[i].domain == domain) {
            const bool isStep = thread.openRanges[i].isStep;
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
        session.keeperWake.store(1, std::memory_order_release);
        syscall(SYS_futex, &session.keeperWake, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    }
}

raw::StringRef rangePath(SessionState& session, ThreadState& thread) noexcept {
    if (thread.openRangeCount == 0) {
        return 0;
    }
    const unsigned depth = thread.openRangeCount < ThreadState::kMaxOpenRanges ? thread.openRangeCount
                                                                               : ThreadState::kMaxOpenRanges;
    OpenRange& range = thread.openRanges[depth - 1];
    if (range.path == 0) {
        range.path = session.strings.string({thread.pathText, range.pathBytes});
    }
    return range.path;
}

bool isStepName(SessionState& session, raw::StringRef name, const char* text) noexcept {
    SpinGuard guard(session.rangeLock);
    if (!session.hasStepPattern) {
        const char* wanted = getenv(raw::kEnvStepRange);
        const char* pattern = wanted != nullptr && wanted[0] != '\0' ? wanted : kUsualSteps;
        session.hasStepPattern = regcomp(&session.stepPattern, pattern, REG_EXTENDED | REG_NOSUB) == 0
            || regcomp(&session.stepPattern, kUsualSteps, REG_EXTENDED | REG_NOSUB) == 0;
    }
    std::uint32_t* known = session.stepNames.insert(name);
    if (known == nullptr || !session.hasStepPattern) {
        return false;
    }
    if (*known == 0) {
        *known = regexec(&session.stepPattern, text, 0, nullptr, 0) == 0 ? 2 : 1;
    }
    return *known == 2;
}

} // namespace gd::session
