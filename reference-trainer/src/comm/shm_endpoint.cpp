// SPDX-License-Identifier: Apache-2.0
#include "comm/shm_endpoint.h"

#include "collector/api/graphdoctor_runtime.h"
#include "kernels/number.h"

#include <algorithm>
#include <cstring>

namespace gdt::comm {

using runtime::CommArguments;
using runtime::Status;

namespace {

// True when counter has reached round; both wrap.
bool reached(std::uint32_t counter, std::uint32_t round) {
    return static_cast<std::int32_t>(counter - round) >= 0;
}

std::uint64_t bit(int rank) {
    return std::uint64_t{1} << static_cast<unsigned>(rank);
}

} // namespace

Status ShmEndpoint::fail(const std::string& reason) {
    SegmentHeader& header = m_segment.header();
    std::uint32_t none = 0;
    if (header.failed.compare_exchange_strong(none, 1)) {
        const std::size_t length = std::min(reason.size(), sizeof(header.reason) - 1);
        std::memcpy(header.reason, reason.data(), length);
        header.reason[length] = '\0';
        header.failed.store(2, std::memory_order_release);
    }
    std::lock_guard lock(m_errorMutex);
    if (m_error.empty())
        m_error = reason;
    return Status::LaunchFailed;
}

std::string ShmEndpoint::error() const {
    std::lock_guard lock(m_errorMutex);
    return m_error;
}

Status ShmEndpoint::mismatch(const Signature& own, int rank, const Signature& other) {
    return fail("ranks disagree: " + name(m_rank) + " runs " + describe(own, m_jobRanks) + "; " + name(rank)
        + " runs " + describe(other, m_jobRanks));
}

std::string ShmEndpoint::ended(int peer, const Signature& own) const {
    return name(peer) + kHasEnded + "; " + name(m_rank) + " waited for it in " + describe(own, m_jobRanks);
}

Status ShmEndpoint::check(int peer, const Need& need, std::int64_t deadlineNs) {
    const SegmentHeader& header = m_segment.header();
    if (header.failed.load(std::memory_order_acquire) == 2)
        return fail(header.reason);
    const std::string who = name(peer);
    const auto what
        = [&] { return name(m_rank) + " waited for it in " + describe(need.signature, m_jobRanks); };
    if (monotonicNs() > deadlineNs) {
        return fail(who + " did not come within " + std::to_string(m_options.timeoutNs / 1'000'000) + " ms; "
            + what());
    }
    if (!m_options.strict)
        return Status::Success;
    const std::string stuck = deadlock();
    return stuck.empty() ? Status::Success : fail(stuck);
}

// --- collectives ---

Status ShmEndpoint::awaitAll(
    const Signature& own, std::uint32_t round, std::atomic<std::uint32_t> RankCard::*counter) {
    bool published = false;
    std::int64_t deadlineNs = 0;
    for (int rank = 0; rank < m_size; ++rank) {
        RankCard& card = m_segment.card(rank);
        std::atomic<std::uint32_t>& word = card.*counter;
        while (true) {
            const std::uint32_t seen = word.load(std::memory_order_acquire);
            if (reached(seen, round))
                break;
            const Need need{1, 0, 0, round, 0, own};
            if (!published) {
                published = true;
                deadlineNs = monotonicNs() + m_options.timeoutNs;
                publish(need);
            } else {
                // Looked at again after the liveness: the peer may have come, and ended, since the first
                // look.
                const bool alive = m_segment.alive(rank);
                GDT_TRY(check(rank, need, deadlineNs));
                if (!alive && !reached(word.load(std::memory_order_acquire), round))
                    return fail(ended(rank, own));
            }
            card.sleepers.fetch_add(1);
            if (word.load() == seen)
                sleepOn(word, seen);
            card.sleepers.fetch_sub(1);
        }
    }
    if (published)
        unpublish();
    return Status::Success;
}

// The slot may be written again once everybody has read the round before.
Status ShmEndpoint::post(const Signature& signature, const std::function<void(std::byte*)>& write) {
    GDT_TRY(awaitAll(signature, m_round, &RankCard::consumed));
    RankCard& card = m_segment.card(m_rank);
    if (write)
        write(m_segment.slot(m_rank));
    card.signature = signature;
    card.posted.store(++m_round);
    if (card.sleepers.load() != 0)
        wakeAll(card.posted);
    return awaitPosts(signature);
}

Status ShmEndpoint::awaitPosts(const Signature& own) {
    GDT_TRY(awaitAll(own, m_round, &RankCard::posted));
    for (int rank = 0; m_options.strict && rank < m_size; ++rank) {
        const Signature& other = m_segment.card(rank).signature;
        if (!(other == own))
            return mismatch(own, rank, other);
    }
    return Status::Success;
}

void ShmEndpoint::finishRound() {
    RankCard& card = m_segment.card(m_rank);
    card.consumed.store(m_round);
    if (card.sleepers.load() != 0)
        wakeAll(card.consumed);
}

namespace {

template <class T> void combine(T* into, const T* part, std::uint64_t count, std::uint32_t op) {
    if (op == static_cast<std::uint32_t>(ReduceOp::Max)) {
        for (std::uint64_t i = 0; i < count; ++i)
            into[i] = std::max(into[i], part[i]);
    } else {
        for (std::uint64_t i = 0; i < count; ++i)
            into[i] += part[i];
    }
}

void combine(std::byte* into, const std::byte* part, std::uint64_t count, const CommArguments& arguments) {
    const auto as = [&]<class T>(T*) {
        combine(reinterpret_cast<T*>(into), reinterpret_cast<const T*>(part), count, arguments.reduceOp);
    };
    // Each addition rounds, as the links of a ring do.
    const auto asNarrow = [&]<class T>(T*) {
        auto* sums = reinterpret_cast<T*>(into);
        const auto* parts = reinterpret_cast<const T*>(part);
        for (std::uint64_t i = 0; i < count; ++i) {
            float sum = kernels::widen(sums[i]);
            const float other = kernels::widen(parts[i]);
            combine(&sum, &other, 1, arguments.reduceOp);
            sums[i] = kernels::narrow<T>(sum);
        }
    };
    switch (static_cast<DataType>(arguments.dataType)) {
    case DataType::Float16:
        return asNarrow(static_cast<kernels::Float16*>(nullptr));
    case DataType::BFloat16:
        return asNarrow(static_cast<kernels::BFloat16*>(nullptr));
    case DataType::Float32:
        return as(static_cast<float*>(nullptr));
    case DataType::Float64:
        return as(static_cast<double*>(nullptr));
    case DataType::Int32:
        return as(static_cast<std::int32_t*>(nullptr));
    case DataType::Int64:
        return as(static_cast<std::int64_t*>(nullptr));
    case DataType::Uint8:
        break; // refused at the call
    }
}

// Where the parts of a collective lie: each round moves `parts` pieces of the same length, `stride` bytes
// apart in the send and receive buffers.
struct Layout {
    std::uint64_t partsPosted = 1;
    std::uint64_t bytes = 0; // of one part
};

} // namespace

Status ShmEndpoint::collective(const Signature& signature, const CommArguments& a) {
    const std::uint64_t element = sizeOf(static_cast<DataType>(a.dataType));
    const auto ranks = static_cast<std::uint64_t>(m_size);
    const bool scatters = a.kind == GD_RT_COMM_REDUCE_SCATTER;
    const Layout layout{scatters ? ranks : 1, a.count * element};
    const std::uint64_t pieceBytes = m_segment.header().slotBytes / layout.partsPosted / element * element;
    const auto* send = static_cast<const std::byte*>(a.send);
    auto* receive = static_cast<std::byte*>(a.receive);
    for (std::uint64_t first = 0; first < layout.bytes; first += pieceBytes) {
        const std::uint64_t bytes = std::min(pieceBytes, layout.bytes - first);
        const bool writes = a.kind != GD_RT_COMM_BROADCAST || a.root == m_rank;
        GDT_TRY(post(signature, [&](std::byte* slot) {
            for (std::uint64_t part = 0; writes && part < layout.partsPosted; ++part)
                std::memcpy(slot + part * bytes, send + part * layout.bytes + first, bytes);
        }));
        switch (a.kind) {
        case GD_RT_COMM_ALL_GATHER:
            for (int rank = 0; rank < m_size; ++rank) {
                std::memcpy(receive + static_cast<std::uint64_t>(rank) * layout.bytes + first,
                    m_segment.slot(rank), bytes);
            }
            break;
        case GD_RT_COMM_BROADCAST:
            std::memcpy(receive + first, m_segment.slot(a.root), bytes);
            break;
        default: {
            const std::uint64_t own = scatters ? static_cast<std::uint64_t>(m_rank) * bytes : 0;
            std::memcpy(receive + first, m_segment.slot(0) + own, bytes);
            for (int rank = 1; rank < m_size; ++rank)
                combine(receive + first, m_segment.slot(rank) + own, bytes / element, a);
        }
        }
        finishRound();
    }
    return Status::Success;
}

// --- sends and receives ---

bool ShmEndpoint::Transfer::sends() const {
    return arguments.kind == GD_RT_COMM_SEND;
}

void ShmEndpoint::ringBell(int rank) {
    RankCard& card = m_segment.card(rank);
    card.bell.fetch_add(1);
    if (card.bellSleeper.load() != 0)
        wakeAll(card.bell);
}

Status ShmEndpoint::advanceSend(Transfer& transfer, bool& moved) {
    const int peer = transfer.arguments.root;
    Channel& channel = m_segment.channel(m_rank, peer);
    if (channel.taken.load(std::memory_order_acquire) != channel.produced.load(std::memory_order_relaxed))
        return Status::Success;
    const std::uint64_t total = transfer.arguments.messageBytes;
    moved = true;
    if (transfer.moved == total) {
        transfer.done = true;
        return Status::Success;
    }
    const std::uint64_t bytes = std::min(m_segment.header().channelBytes, total - transfer.moved);
    std::memcpy(m_segment.channelData(m_rank, peer),
        static_cast<const std::byte*>(transfer.arguments.send) + transfer.moved, bytes);
    channel.signature = transfer.signature;
    transfer.moved += bytes;
    channel.produced.fetch_add(1, std::memory_order_release);
    ringBell(peer);
    return Status::Success;
}

Status ShmEndpoint::advanceReceive(Transfer& transfer, bool& moved) {
    const int peer = transfer.arguments.root;
    Channel& channel = m_segment.channel(peer, m_rank);
    if (channel.taken.load(std::memory_order_relaxed) == channel.produced.load(std::memory_order_acquire))
        return Status::Success;
    if (!transfer.started) {
        transfer.started = true;
        if (!sameMessage(channel.signature, transfer.signature))
            return mismatch(transfer.signature, peer, channel.signature);
    }
    const std::uint64_t total = transfer.arguments.messageBytes;
    const std::uint64_t bytes = std::min(m_segment.header().channelBytes, total - transfer.moved);
    std::memcpy(static_cast<std::byte*>(transfer.arguments.receive) + transfer.moved,
        m_segment.channelData(peer, m_rank), bytes);
    transfer.moved += bytes;
    transfer.done = transfer.moved == total;
    moved = true;
    channel.taken.fetch_add(1, std::memory_order_release);
    ringBell(peer);
    return Status::Success;
}

Status ShmEndpoint::advance(Transfer& transfer, bool& moved) {
    return transfer.sends() ? advanceSend(transfer, moved) : advanceReceive(transfer, moved);
}

Status ShmEndpoint::exchange(std::vector<Transfer>& transfers) {
    bool published = false;
    std::int64_t deadlineNs = 0;
    RankCard& own = m_segment.card(m_rank);
    while (true) {
        const std::uint32_t seen = own.bell.load();
        bool moved = false;
        const Transfer* waitsFor = nullptr;
        std::uint64_t busySends = 0;
        std::uint64_t busyReceives = 0;
        for (Transfer& transfer : transfers) {
            // Messages of one pair and direction keep their order.
            const std::uint64_t peer = bit(transfer.arguments.root);
            std::uint64_t& busy = transfer.sends() ? busySends : busyReceives;
            if (!transfer.done && (busy & peer) == 0)
                GDT_TRY(advance(transfer, moved));
            if (transfer.done)
                continue;
            busy |= peer;
            waitsFor = waitsFor == nullptr ? &transfer : waitsFor;
        }
        if (waitsFor == nullptr)
            break;
        if (moved)
            continue;
        const int peer = waitsFor->arguments.root;
        const Need need{2, busySends, busyReceives, 0, seen, waitsFor->signature};
        if (!published) {
            published = true;
            deadlineNs = monotonicNs() + m_options.timeoutNs;
        } else {
            const bool alive = m_segment.alive(peer);
            GDT_TRY(check(peer, need, deadlineNs));
            if (!alive && own.bell.load() == seen)
                return fail(ended(peer, need.signature));
        }
        publish(need);
        own.bellSleeper.store(1);
        if (own.bell.load() == seen)
            sleepOn(own.bell, seen);
        own.bellSleeper.store(0);
    }
    if (published)
        unpublish();
    return Status::Success;
}

Status ShmEndpoint::execute(const CommArguments& arguments, bool captured) {
    std::lock_guard lock(m_running);
    if (m_segment.header().failed.load(std::memory_order_acquire) == 2)
        return fail(m_segment.header().reason);
    if (arguments.kind != GD_RT_COMM_SEND && arguments.kind != GD_RT_COMM_RECV)
        return collective(signatureOf(arguments, captured, ++m_collectives), arguments);
    auto& messages = arguments.kind == GD_RT_COMM_SEND ? m_sent : m_received;
    const std::uint64_t number = ++messages[static_cast<std::size_t>(arguments.root)];
    m_group.push_back({arguments, signatureOf(arguments, captured, number)});
    if (arguments.deferred)
        return Status::Success;
    std::vector<Transfer> transfers = std::move(m_group);
    m_group.clear();
    return exchange(transfers);
}

// --- who waits for whom ---

void ShmEndpoint::publish(const Need& need) {
    Waiting& waiting = m_segment.card(m_rank).waiting;
    if (waiting.blocked.load() == need.kind && waiting.sendsTo.load() == need.sendsTo
        && waiting.receivesFrom.load() == need.receivesFrom && waiting.round.load() == need.round
        && waiting.bellSeen.load() == need.bellSeen)
        return;
    waiting.epoch.fetch_add(1);
    waiting.blocked.store(need.kind);
    waiting.sendsTo.store(need.sendsTo);
    waiting.receivesFrom.store(need.receivesFrom);
    waiting.round.store(need.round);
    waiting.bellSeen.store(need.bellSeen);
    waiting.signature = need.signature;
    waiting.epoch.fetch_add(1);
}

void ShmEndpoint::unpublish() {
    Waiting& waiting = m_segment.card(m_rank).waiting;
    waiting.epoch.fetch_add(1);
    waiting.blocked.store(0);
    waiting.epoch.fetch_add(1);
}

std::vector<std::uint32_t> ShmEndpoint::lookAround() const {
    std::vector<std::uint32_t> look;
    for (int rank = 0; rank < m_size; ++rank) {
        const RankCard& card = m_segment.card(rank);
        look.push_back(card.waiting.epoch.load());
        look.push_back(card.waiting.blocked.load());
        look.push_back(card.bell.load());
        look.push_back(card.posted.load());
    }
    return look;
}

// Whether `rank` sleeps and nothing has moved for it since it went to sleep. One that is just writing down
// what it waits for, however long it is kept from going on, does not.
bool ShmEndpoint::blocked(int rank) const {
    const RankCard& card = m_segment.card(rank);
    if (card.waiting.epoch.load() % 2 != 0)
        return false;
    const std::uint32_t kind = card.waiting.blocked.load();
    return kind == 1 || (kind == 2 && card.waiting.bellSeen.load() == card.bell.load());
}

// Whether `rank` needs something of `peer`, a blocked rank, that the peer does not offer.
bool ShmEndpoint::needsInVain(int rank, int peer) const {
    const Waiting& own = m_segment.card(rank).waiting;
    const Waiting& other = m_segment.card(peer).waiting;
    if (own.blocked.load() == 1)
        return !reached(m_segment.card(peer).posted.load(), own.round.load());
    const bool transfers = other.blocked.load() == 2;
    const bool taken = transfers && (other.receivesFrom.load() & bit(rank)) != 0;
    const bool given = transfers && (other.sendsTo.load() & bit(rank)) != 0;
    return ((own.sendsTo.load() & bit(peer)) != 0 && !taken)
        || ((own.receivesFrom.load() & bit(peer)) != 0 && !given);
}

// The largest set of blocked ranks each of which needs something of another in vain.
std::uint64_t ShmEndpoint::stuckRanks() const {
    std::uint64_t stuck = 0;
    for (int rank = 0; rank < m_size; ++rank)
        stuck |= blocked(rank) ? bit(rank) : 0;
    const auto needsStuck = [&](int rank) {
        for (int peer = 0; peer < m_size; ++peer) {
            if (peer != rank && (stuck & bit(peer)) != 0 && needsInVain(rank, peer))
                return true;
        }
        return false;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (int rank = 0; rank < m_size; ++rank) {
            if ((stuck & bit(rank)) != 0 && !needsStuck(rank)) {
                stuck &= ~bit(rank);
                changed = true;
            }
        }
    }
    return stuck;
}

// Two looks in a row must agree, or somebody moved meanwhile.
std::string ShmEndpoint::deadlock() {
    std::vector<std::uint32_t> look = lookAround();
    const std::uint64_t stuck = stuckRanks();
    const bool same = (stuck & bit(m_rank)) != 0 && look == lookAround();
    const bool seenBefore = same && look == m_lastLook;
    m_lastLook = same ? std::move(look) : std::vector<std::uint32_t>();
    std::string text;
    for (int rank = 0; seenBefore && rank < m_size; ++rank) {
        if ((stuck & bit(rank)) != 0) {
            text += (text.empty() ? "ranks wait for each other: " : "; ") + name(rank) + " in "
                + describe(m_segment.card(rank).waiting.signature, m_jobRanks);
        }
    }
    return text;
}

} // namespace gdt::comm
