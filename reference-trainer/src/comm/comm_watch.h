// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/signature.h"
#include "runtime/stream.h"
#include "runtime/watched_call.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

namespace gdt::comm {

/// Tells whether what a stream held at one moment has run. passed() may be called by any thread.
class Marker {
public:
    virtual ~Marker() = default;
    /// Of what the stream holds now, instead of before; it does not capture. False: it could not be set.
    virtual bool set(const runtime::Stream& stream) = 0;
    virtual bool passed() = 0;
};

struct CommWatchOptions {
    int rank = 0; ///< in the job
    std::int64_t timeoutNs = 30'000'000'000; ///< that one call may last
    /// After an error of the library, until the thread that uses it has to have noticed.
    std::int64_t graceNs = 2'000'000'000;
    std::int64_t askNs = 2'000'000'000; ///< the device, when time is up, for what has run
    std::function<std::shared_ptr<Marker>()> makeMarker;
    /// Called once, on a thread of the watch, with one sentence; an empty one when the user knows already.
    std::function<void(const std::string&)> end;
};

/// Sees that a rank waits for others in vain, for a library whose operations never time out: the thread that
/// made the watch stays in one call (runtime/watched_call.h), or the library has noted an error and that
/// thread does not come to hear of it. Says which operation waits. What it watches writes into memory only;
/// the device is asked when time is up, by a thread that may get stuck in the question.
class CommWatch {
public:
    /// One communicator's operations. Used by the thread that made the watch.
    struct Operation {
        Signature signature;
        std::source_location where;
        std::uint64_t number = 0; ///< over all communicators
        std::shared_ptr<Marker> marker; ///< null where none could be set
    };
    struct Member {
        std::string name;
        std::vector<int> jobRanks;
        std::function<std::string()> libraryError; ///< empty while there is none
        std::vector<Operation> current; ///< of the library's call in progress, or of the open group
        std::deque<Operation> open; ///< queued outside captures, oldest first; kOpen at most
        std::vector<std::shared_ptr<Marker>> spare; ///< of operations that have ended
        std::uint64_t captured = 0;
        Operation firstCaptured, lastCaptured;
        std::uint64_t collectives = 0;
        std::vector<std::uint64_t> messages[2]; ///< received from, sent to each member
    };

    explicit CommWatch(CommWatchOptions options);
    ~CommWatch();
    CommWatch(const CommWatch&) = delete;
    CommWatch& operator=(const CommWatch&) = delete;

    /// Until remove(). `libraryError` may be called by any thread.
    [[nodiscard]] Member* add(
        std::string name, std::vector<int> jobRanks, std::function<std::string()> libraryError);
    void remove(Member* member);
    void identify(Member& member, const std::string& name, const std::vector<int>& jobRanks);

    /// Before the library is called for an operation.
    void begin(Member& member, const runtime::CommArguments& arguments, bool captured,
        const std::source_location& where);
    /// After it: what begin() named since the last time is on the stream, or failed.
    void queued(Member& member, const runtime::Stream& stream);
    void failed(Member& member);

    /// From now on a wait in vain ends the process soon and silently.
    void leave();

    /// Starts the thread that looks.
    void start();
    /// What start() does again and again: the sentence when time is up, and then no more.
    [[nodiscard]] std::optional<std::string> look(std::int64_t nowNs);

    /// Operations of a communicator whose completion is not known, at most.
    static constexpr std::size_t kOpen = 64;
    static constexpr std::int64_t kLeaveNs = 5'000'000'000;

private:
    struct Seen {
        std::uint64_t entered = 0;
        const char* call = nullptr;
        std::int64_t sinceNs = 0;
    };

    void run();
    [[nodiscard]] std::shared_ptr<Marker> mark(Member& member, const runtime::Stream& stream);
    [[nodiscard]] std::string libraryError();
    [[nodiscard]] bool waitsTooLong(std::int64_t nowNs);
    [[nodiscard]] std::string sentence(const std::string& beginning);

    CommWatchOptions m_options;
    runtime::CallBoard m_board;
    mutable std::mutex m_mutex; ///< of the members and m_leaving
    std::list<Member> m_members;
    std::uint64_t m_operations = 0;
    bool m_leaving = false;
    // Of look().
    Seen m_seen;
    std::int64_t m_errorSinceNs = -1;
    bool m_done = false;

    std::mutex m_threadMutex;
    std::condition_variable m_wake;
    bool m_stop = false;
    std::thread m_thread;
};

/// What CommWatchOptions::end does in a job: prints the sentence, waits a moment, so that peers that wait in
/// vain as well can say so before a launcher ends them, and ends the process with status 1. It undoes
/// nothing: the library's own ways out wait for operations, too.
[[noreturn]] void endProcess(int rank, const std::string& sentence, long lingerMs = 3000);

} // namespace gdt::comm
