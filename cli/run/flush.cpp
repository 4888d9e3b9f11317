// SPDX-License-Identifier: Apache-2.0
#include "cli/run/flush.h"

#include "cli/run/spool_folder.h"

#include "collector/raw/ring_header.h"
#include "collector/raw/spool_name.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>
#include <utility>

namespace gd::run {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kLookEvery = 2ms;
// For a process whose ring is elsewhere, or that holds its ring no more because it runs another program now:
// the time that a flush usually takes.
constexpr auto kUsual = 400ms;

// Nobody may have waited for it yet: a zombie does not write any more.
bool isRunning(std::int64_t pid) {
    if (kill(static_cast<pid_t>(pid), 0) != 0 && errno != EPERM)
        return false;
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string text;
    std::getline(file, text);
    const std::size_t nameEnd = text.rfind(')');
    return nameEnd == std::string::npos || nameEnd + 2 >= text.size() || text[nameEnd + 2] != 'Z';
}

class Process {
public:
    Process(const SegmentStem& segment, const fs::path& spool, const ReadVariable& read)
        : m_pid(segment.pid) {
        for (const fs::path& folder : ringFolders(read, spool))
            m_rings.push_back(folder / (segment.stem + raw::kRingSuffix));
    }

    std::int64_t pid() const { return m_pid; }
    bool hasRing() { return static_cast<bool>(m_ring) || findRing(); }
    // The collector keeps it locked as long as it records there.
    bool holdsRing() {
        if (!hasRing())
            return false;
        if (flock(m_ring.get(), LOCK_EX | LOCK_NB) != 0)
            return true;
        flock(m_ring.get(), LOCK_UN);
        return false;
    }
    // It has written everything up to `request`, or writes nothing any more.
    bool isDone(std::uint32_t request) {
        raw::RingHeader header = {};
        if (hasRing() && pread(m_ring.get(), &header, sizeof header, 0) == ssize_t{sizeof header}) {
            const bool gaveUp = header.loss[0].failedWrites + header.loss[1].failedWrites != 0;
            if (gaveUp || static_cast<std::int32_t>(header.flushed - request) >= 0)
                return true;
        }
        return !isRunning(m_pid);
    }

private:
    bool findRing() {
        for (const fs::path& file : m_rings) {
            m_ring = Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
            if (m_ring)
                return true;
        }
        return false;
    }

    std::int64_t m_pid;
    std::vector<fs::path> m_rings; // places in which it may lie
    Fd m_ring;
};

} // namespace

std::vector<std::int64_t> flush(Control& control, const fs::path& spool, const std::string& host,
    const ReadVariable& read, std::chrono::milliseconds longest) {
    std::vector<Process> waiting;
    for (const SegmentStem& segment : segmentsIn(spool)) {
        if (segment.host == host)
            waiting.emplace_back(segment, spool, read);
    }
    const std::uint32_t request = control.requestFlush();
    const auto start = std::chrono::steady_clock::now();
    for (;;) {
        std::erase_if(waiting, [request](Process& process) { return process.isDone(request); });
        const auto waited = std::chrono::steady_clock::now() - start;
        if (waiting.empty() || waited > longest)
            break;
        if (waited > kUsual
            && std::none_of(waiting.begin(), waiting.end(), [](Process& one) { return one.holdsRing(); }))
            break;
        std::this_thread::sleep_for(kLookEvery);
    }
    std::vector<std::int64_t> late;
    for (Process& process : waiting) {
        if (process.holdsRing() || !process.hasRing())
            late.push_back(process.pid());
    }
    return late;
}

} // namespace gd::run
