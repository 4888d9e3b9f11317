// SPDX-License-Identifier: Apache-2.0
#include "comm/comm_watch.h"

#include "collector/api/graphdoctor_runtime.h"
#include "comm/shm_segment.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace gdt::comm {

namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(200);

std::string textOf(const std::vector<int>& jobRanks) {
    std::string text = jobRanks.size() == 1 ? "rank " : "ranks ";
    for (std::size_t i = 0; i < jobRanks.size(); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(jobRanks[i]);
    return text;
}

std::string nameOf(const CommWatch::Member& member) {
    return "communicator " + member.name + " (" + textOf(member.jobRanks) + ")";
}

std::string textOf(const CommWatch::Operation& operation, const CommWatch::Member& member) {
    std::string text = describe(operation.signature, member.jobRanks);
    const std::string_view file = operation.where.file_name();
    if (operation.where.line() != 0) {
        text += ", at " + std::string(file.substr(file.rfind('/') + 1)) + ":"
            + std::to_string(operation.where.line());
    }
    return text;
}

std::string seconds(std::int64_t ns) {
    return std::to_string((ns + 500'000'000) / 1'000'000'000) + " s";
}

struct Found {
    const CommWatch::Operation* operation = nullptr;
    const CommWatch::Member* member = nullptr;
};

// Asks the device.
Found firstNotEnded(const std::list<CommWatch::Member>& members) {
    Found first;
    for (const CommWatch::Member& member : members) {
        const auto operation = std::find_if(member.open.begin(), member.open.end(),
            [](const CommWatch::Operation& o) { return o.marker != nullptr && !o.marker->passed(); });
        if (operation != member.open.end()
            && (first.operation == nullptr || operation->number < first.operation->number))
            first = {&*operation, &member};
    }
    return first;
}

Found lastQueued(const std::list<CommWatch::Member>& members) {
    Found last;
    for (const CommWatch::Member& member : members) {
        if (!member.open.empty()
            && (last.operation == nullptr || member.open.back().number > last.operation->number))
            last = {&member.open.back(), &member};
    }
    return last;
}

std::string ofGraphs(const std::list<CommWatch::Member>& members) {
    std::string text;
    for (const CommWatch::Member& member : members) {
        if (member.captured == 0)
            continue;
        text += (text.empty() ? "a replayed graph has not ended; captured were " : "; ")
            + std::to_string(member.captured) + " operations of " + nameOf(member) + ", first: "
            + textOf(member.firstCaptured, member) + ", last: " + textOf(member.lastCaptured, member);
    }
    return text;
}

std::string whatWaits(const std::list<CommWatch::Member>& members, bool ask) {
    for (const CommWatch::Member& member : members) {
        if (!member.current.empty())
            return textOf(member.current.front(), member) + ", of " + nameOf(member);
    }
    const Found found = ask ? firstNotEnded(members) : lastQueued(members);
    if (found.operation != nullptr) {
        return std::string(ask ? "not ended: " : "queued last: ") + textOf(*found.operation, *found.member)
            + ", of " + nameOf(*found.member);
    }
    const std::string graphs = ofGraphs(members);
    return graphs.empty() ? "no operation with other ranks is under way" : graphs;
}

} // namespace

CommWatch::CommWatch(CommWatchOptions options)
    : m_options(std::move(options)) {
    runtime::callBoard() = &m_board;
}

CommWatch::~CommWatch() {
    {
        std::lock_guard lock(m_threadMutex);
        m_stop = true;
    }
    m_wake.notify_all();
    if (m_thread.joinable())
        m_thread.join();
    if (runtime::callBoard() == &m_board)
        runtime::callBoard() = nullptr;
}

CommWatch::Member* CommWatch::add(
    std::string name, std::vector<int> jobRanks, std::function<std::string()> libraryError) {
    std::lock_guard lock(m_mutex);
    Member& member = m_members.emplace_back();
    member.name = std::move(name);
    for (std::vector<std::uint64_t>& counts : member.messages)
        counts.resize(jobRanks.size());
    member.jobRanks = std::move(jobRanks);
    member.libraryError = std::move(libraryError);
    return &member;
}

void CommWatch::remove(Member* member) {
    std::lock_guard lock(m_mutex);
    m_members.remove_if([&](const Member& m) { return &m == member; });
}

void CommWatch::identify(Member& member, const std::string& name, const std::vector<int>& jobRanks) {
    std::lock_guard lock(m_mutex);
    member.name = name;
    if (jobRanks.size() == member.jobRanks.size())
        member.jobRanks = jobRanks;
}

void CommWatch::begin(Member& member, const runtime::CommArguments& arguments, bool captured,
    const std::source_location& where) {
    std::lock_guard lock(m_mutex);
    const bool sends = arguments.kind == GD_RT_COMM_SEND;
    const bool message = sends || arguments.kind == GD_RT_COMM_RECV;
    const auto peer = static_cast<std::size_t>(arguments.root);
    std::uint64_t number = 0;
    if (!message)
        number = ++member.collectives;
    else if (peer < member.jobRanks.size())
        number = ++member.messages[sends ? 1 : 0][peer];
    member.current.push_back({signatureOf(arguments, captured, number), where, ++m_operations, nullptr});
}

// Only the thread that made the watch changes members, so it reads them without the lock; it does not hold
// the lock while it calls the device, where it may wait.
std::shared_ptr<Marker> CommWatch::mark(Member& member, const runtime::Stream& stream) {
    std::shared_ptr<Marker> marker;
    if (std::lock_guard lock(m_mutex); !member.spare.empty()) {
        marker = std::move(member.spare.back());
        member.spare.pop_back();
    }
    if (marker == nullptr && m_options.makeMarker)
        marker = m_options.makeMarker();
    return marker != nullptr && marker->set(stream) ? marker : nullptr;
}

void CommWatch::queued(Member& member, const runtime::Stream& stream) {
    if (member.current.empty())
        return;
    const bool captured = member.current.front().signature.captured != 0;
    std::shared_ptr<Marker> marker;
    std::size_t ended = 0;
    bool full = false;
    if (!captured) {
        const runtime::WatchedCall call("cuEventRecord");
        // The operations of a communicator end in order: where the middle one has, so have those before it.
        if (member.open.size() >= kOpen) {
            const std::size_t half = member.open.size() / 2;
            full = member.open[half].marker != nullptr && !member.open[half].marker->passed();
            ended = full ? 0 : half + 1;
        }
        marker = full ? nullptr : mark(member, stream);
    }
    std::lock_guard lock(m_mutex);
    if (captured) {
        member.firstCaptured = member.captured == 0 ? member.current.front() : member.firstCaptured;
        member.lastCaptured = member.current.back();
        member.captured += member.current.size();
    } else if (!full) { // else those that wait longer say more
        for (; ended > 0; --ended) {
            if (member.open.front().marker != nullptr)
                member.spare.push_back(std::move(member.open.front().marker));
            member.open.pop_front();
        }
        member.open.push_back(member.current.front()); // of a group, which ends as a whole
        member.open.back().marker = std::move(marker);
    }
    member.current.clear();
}

void CommWatch::failed(Member& member) {
    std::lock_guard lock(m_mutex);
    member.current.clear();
}

void CommWatch::leave() {
    std::lock_guard lock(m_mutex);
    m_leaving = true;
}

std::string CommWatch::libraryError() {
    std::lock_guard lock(m_mutex);
    for (const Member& member : m_members) {
        if (std::string error = member.libraryError ? member.libraryError() : std::string(); !error.empty())
            return error;
    }
    return {};
}

bool CommWatch::waitsTooLong(std::int64_t nowNs) {
    const char* call = m_board.call.load(std::memory_order_acquire);
    const Seen now{m_board.entered.load(std::memory_order_relaxed), call, nowNs};
    if (call == nullptr || now.entered != m_seen.entered || call != m_seen.call) {
        m_seen = now;
        return false;
    }
    const std::int64_t own = m_board.limitNs.load(std::memory_order_relaxed);
    std::int64_t limitNs = own > 0 ? own : m_options.timeoutNs;
    std::lock_guard lock(m_mutex);
    if (m_leaving)
        limitNs = std::min(limitNs, kLeaveNs);
    return nowNs - m_seen.sinceNs >= limitNs;
}

std::optional<std::string> CommWatch::look(std::int64_t nowNs) {
    if (m_done)
        return std::nullopt;
    const std::string error = libraryError();
    m_errorSinceNs = error.empty() ? -1 : m_errorSinceNs < 0 ? nowNs : m_errorSinceNs;
    const bool deaf = m_errorSinceNs >= 0 && nowNs - m_errorSinceNs >= m_options.graceNs;
    if (!waitsTooLong(nowNs) && !deaf)
        return std::nullopt;
    m_done = true;
    {
        std::lock_guard lock(m_mutex);
        if (m_leaving)
            return std::string();
    }
    const char* call = m_board.call.load(std::memory_order_acquire);
    std::string beginning = error;
    if (call != nullptr) {
        beginning += (error.empty() ? "" : "; ") + std::string("waited ") + seconds(nowNs - m_seen.sinceNs)
            + " in " + call;
    }
    return sentence(beginning + ": ");
}

// Asks on a thread of its own: the driver may hold a lock while another thread waits in it.
std::string CommWatch::sentence(const std::string& beginning) {
    struct Question {
        std::mutex mutex;
        std::condition_variable answered;
        std::optional<std::string> answer;
        std::list<Member> members;
    };
    const auto question = std::make_shared<Question>();
    {
        std::lock_guard lock(m_mutex);
        question->members = m_members;
    }
    std::thread([question] {
        std::string text = whatWaits(question->members, true);
        std::lock_guard lock(question->mutex);
        question->answer = std::move(text);
        question->answered.notify_all();
    }).detach();
    std::unique_lock lock(question->mutex);
    const bool answered = question->answered.wait_for(
        lock, std::chrono::nanoseconds(m_options.askNs), [&] { return question->answer.has_value(); });
    return beginning + (answered ? *question->answer : whatWaits(question->members, false));
}

void CommWatch::start() {
    m_thread = std::thread([this] { run(); });
}

void CommWatch::run() {
    std::unique_lock lock(m_threadMutex);
    while (!m_wake.wait_for(lock, kLookEvery, [this] { return m_stop; })) {
        lock.unlock();
        if (const std::optional<std::string> text = look(monotonicNs())) {
            m_board.closed.store(true, std::memory_order_release);
            m_options.end(*text);
        }
        lock.lock();
    }
}

void endProcess(int rank, const std::string& sentence, long lingerMs) {
    if (!sentence.empty()) {
        std::signal(SIGTERM, SIG_IGN);
        std::fprintf(stderr, "reference-trainer: rank %d: %s\n", rank, sentence.c_str());
        std::fflush(stdout);
        pauseMs(lingerMs);
    }
    std::_Exit(1);
}

} // namespace gdt::comm
