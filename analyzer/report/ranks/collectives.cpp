// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/ranks/collectives.h"

#include "analyzer/base/statement.h"
#include "analyzer/report/phrases.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

namespace gd::report {
namespace {

// Clocks of processes on one host agree this well.
constexpr std::int64_t kSlackNs = 2'000;

// Ranks leave these together: nobody is done before all have come.
bool waitsForAll(const std::string& kind) {
    constexpr std::array<std::string_view, 4> kKinds{
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
    return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}
bool isMessage(const std::string& kind) {
    return kind == "send" || kind == "recv";
}
bool isCollective(const std::string& kind) {
    return waitsForAll(kind) || kind == "broadcast" || kind == "reduce";
}

struct Member {
    std::int64_t rank = 0;
    std::int64_t nranks = 0;
};

class Matcher {
public:
    Matcher(Db& trace, StepComparison& comparison)
        : m_trace(trace)
        , m_out(comparison) { }

    Result<void> run() {
        GD_TRY(readMembers());
        for (const auto& [hash, members] : m_members) {
            matchSequence(hash, members);
            matchMessages(hash, members);
        }
        std::stable_sort(m_out.collectives.begin(), m_out.collectives.end(),
            [this](const Collective& a, const Collective& b) { return orderOf(a) < orderOf(b); });
        noteUnmatched();
        sumUp();
        return {};
    }

private:
    using Members = std::map<std::size_t, Member>; // by lane

    Result<void> readMembers() {
        for (std::size_t lane = 0; lane < m_out.lanes.size(); ++lane) {
            GD_TRY_ASSIGN(auto rows,
                m_trace.prepareReadOnly(
                    "SELECT comm_hash, rank, nranks FROM nccl_comm WHERE process_id = ?"));
            rows.bind(1, m_out.lanes[lane].processId);
            while (true) {
                GD_TRY_ASSIGN(const bool more, rows.step());
                if (!more)
                    break;
                m_members[rows.int64(0)][lane] = {rows.int64(1), rows.int64(2)};
            }
        }
        return {};
    }

    CommWork& workOf(const Arrival& arrival) { return m_out.lanes[arrival.lane].comm[arrival.work]; }
    const CommWork& workOf(const Arrival& arrival) const {
        return m_out.lanes[arrival.lane].comm[arrival.work];
    }
    std::int64_t orderOf(const Collective& collective) const {
        const std::size_t lane = collective.arrivals.front().lane;
        return workOf(collective.arrivals.front()).startNs - (m_out.oneClock ? 0 : m_out.lanes[lane].startNs);
    }

    template <class F> std::vector<std::size_t> worksWhere(std::size_t lane, F&& wanted) const {
        std::vector<std::size_t> out;
        const auto& comm = m_out.lanes[lane].comm;
        for (std::size_t i = 0; i < comm.size(); ++i) {
            if (wanted(comm[i]))
                out.push_back(i);
        }
        return out;
    }
    bool sameHost(const std::vector<Arrival>& arrivals) const {
        return std::all_of(arrivals.begin(), arrivals.end(), [&](const Arrival& arrival) {
            return m_out.lanes[arrival.lane].host == m_out.lanes[arrivals.front().lane].host;
        });
    }
    void remark(std::int64_t hash, const std::string& what) {
        m_out.notes.push_back(
            fmt::format("communicator {:08x}: {}", static_cast<std::uint64_t>(hash) >> 32, what));
    }

    void matchSequence(std::int64_t hash, const Members& members) {
        if (members.size() < 2)
            return;
        std::map<std::size_t, std::vector<std::size_t>> byLane;
        std::set<std::size_t> counts;
        for (const auto& [lane, member] : members) {
            byLane[lane] = worksWhere(
                lane, [hash](const CommWork& w) { return w.commHash == hash && isCollective(w.kind); });
            counts.insert(byLane[lane].size());
        }
        if (counts.size() > 1)
            return remark(hash,
                "its ranks ran different numbers of collectives in this step, so they are not compared");
        std::vector<Collective> found;
        for (std::size_t i = 0; i < *counts.begin(); ++i) {
            Collective one;
            for (const auto& [lane, works] : byLane)
                one.arrivals.push_back({lane, works[i]});
            const CommWork& first = workOf(one.arrivals.front());
            one.kind = first.kind;
            one.commHash = hash;
            one.nranks = members.begin()->second.nranks;
            one.bytes = first.bytes;
            for (const Arrival& arrival : one.arrivals) {
                if (workOf(arrival).kind != one.kind)
                    return remark(
                        hash, "its ranks ran different collectives in this step, so they are not compared");
            }
            if (contradicts(one))
                return remark(
                    hash, "a rank left a collective before all had come: these are not the same calls");
            found.push_back(std::move(one));
        }
        for (Collective& one : found)
            keep(std::move(one), members);
    }
    bool contradicts(const Collective& one) const {
        if (!waitsForAll(one.kind) || !sameHost(one.arrivals))
            return false;
        std::int64_t last = workOf(one.arrivals.front()).startNs;
        std::int64_t firstEnd = workOf(one.arrivals.front()).endNs;
        for (const Arrival& arrival : one.arrivals) {
            last = std::max(last, workOf(arrival).startNs);
            firstEnd = std::min(firstEnd, workOf(arrival).endNs);
        }
        return last > firstEnd + kSlackNs;
    }

    // The n-th send of one rank to another is the n-th receive there.
    void matchMessages(std::int64_t hash, const Members& members) {
        for (const auto& [from, sender] : members) {
            for (const auto& [to, receiver] : members) {
                const auto sends = worksWhere(from, [&, rank = receiver.rank](const CommWork& w) {
                    return w.commHash == hash && w.kind == "send" && w.peer == rank;
                });
                const auto receives = worksWhere(to, [&, rank = sender.rank](const CommWork& w) {
                    return w.commHash == hash && w.kind == "recv" && w.peer == rank;
                });
                if (from == to || sends.size() != receives.size())
                    continue;
                for (std::size_t i = 0; i < sends.size(); ++i) {
                    Collective one;
                    one.kind = "send";
                    one.commHash = hash;
                    one.nranks = 2;
                    one.bytes = m_out.lanes[from].comm[sends[i]].bytes;
                    one.arrivals = {{from, sends[i]}, {to, receives[i]}};
                    if (from > to)
                        std::swap(one.arrivals[0], one.arrivals[1]);
                    keep(std::move(one), members);
                }
            }
        }
    }

    void keep(Collective one, const Members& members) {
        for (const Arrival& arrival : one.arrivals)
            m_matched.emplace(arrival.lane, arrival.work);
        const bool complete
            = isMessage(one.kind) || static_cast<std::int64_t>(one.arrivals.size()) == one.nranks;
        if (!complete)
            m_incomplete.insert(one.commHash);
        if (sameHost(one.arrivals)) {
            std::int64_t first = workOf(one.arrivals.front()).startNs;
            std::int64_t last = first;
            one.lastLane = one.arrivals.front().lane;
            for (const Arrival& arrival : one.arrivals) {
                const std::int64_t start = workOf(arrival).startNs;
                first = std::min(first, start);
                if (start > last) {
                    last = start;
                    one.lastLane = arrival.lane;
                }
            }
            one.skewNs = last - first;
            if (complete)
                deriveWaits(one, members);
        } else {
            m_acrossHosts = true;
        }
        m_out.collectives.push_back(std::move(one));
    }

    // Until whom a rank waits: all others; of a broadcast only the root, in a reduction only the root waits.
    void deriveWaits(const Collective& one, const Members& members) {
        std::vector<std::int64_t> starts;
        std::int64_t longest = 0;
        for (const Arrival& arrival : one.arrivals)
            starts.push_back(workOf(arrival).startNs);
        std::sort(starts.begin(), starts.end());
        std::int64_t rootStart = starts.front();
        for (const Arrival& arrival : one.arrivals) {
            if (members.at(arrival.lane).rank == workOf(arrival).peer)
                rootStart = workOf(arrival).startNs;
        }
        for (const Arrival& arrival : one.arrivals) {
            CommWork& work = workOf(arrival);
            const bool isRoot = members.at(arrival.lane).rank == work.peer;
            std::int64_t until = starts.back();
            if (one.kind == "broadcast")
                until = isRoot ? work.startNs : rootStart;
            if (one.kind == "reduce" && !isRoot)
                until = work.startNs;
            work.waitNs = std::clamp<std::int64_t>(until - work.startNs, 0, work.endNs - work.startNs);
            longest = std::max(longest, work.waitNs);
            m_judged.insert(arrival.lane);
        }
        const std::int64_t gain = std::min(starts.back() - starts[starts.size() - 2], longest);
        m_heldUp[one.lastLane] += gain;
    }

    void noteUnmatched() {
        std::size_t open = 0;
        for (std::size_t lane = 0; lane < m_out.lanes.size(); ++lane) {
            for (std::size_t work = 0; work < m_out.lanes[lane].comm.size(); ++work)
                open += m_matched.contains({lane, work}) ? 0 : 1;
        }
        if (open > 0)
            m_out.notes.push_back(fmt::format(
                "{} could not be matched with the other ranks: waits inside {} are not known",
                plural(static_cast<std::int64_t>(open), "communication kernel"), open == 1 ? "it" : "them"));
        for (const std::int64_t hash : m_incomplete)
            remark(hash, "not all of its ranks are in the trace: who waits for whom is not known");
        if (m_acrossHosts)
            m_out.notes.push_back(
                "the clocks of the hosts are not fitted: arrivals of ranks of different hosts are "
                "not compared");
    }

    void sumUp() {
        for (std::size_t i = 0; i < m_out.lanes.size(); ++i) {
            RankLane& lane = m_out.lanes[i];
            if (!m_judged.contains(i))
                continue;
            std::int64_t wait = 0;
            for (const CommWork& work : lane.comm)
                wait += work.waitNs;
            lane.waitNs = wait;
            lane.heldUpNs = m_heldUp.contains(i) ? m_heldUp.at(i) : 0;
        }
    }

    Db& m_trace;
    StepComparison& m_out;
    std::map<std::int64_t, Members> m_members; // by communicator
    std::set<std::pair<std::size_t, std::size_t>> m_matched; // lane, work
    std::set<std::size_t> m_judged; // lanes whose waits are known
    std::map<std::size_t, std::int64_t> m_heldUp;
    std::set<std::int64_t> m_incomplete;
    bool m_acrossHosts = false;
};

} // namespace

Result<void> matchCollectives(Db& trace, StepComparison& comparison) {
    return Matcher(trace, comparison).run();
}

} // namespace gd::report
