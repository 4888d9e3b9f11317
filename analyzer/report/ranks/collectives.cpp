// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/ranks/collectives.h"

#include "analyzer/report/comm/matches.h"
#include "analyzer/report/phrases.h"

#include <algorithm>
#include <map>
#include <set>

namespace gd::report {
namespace {

class Reader {
public:
    Reader(Db& trace, StepComparison& comparison)
        : m_trace(trace)
        , m_out(comparison) { }

    Result<void> run() {
        std::set<std::int64_t> processes;
        for (const RankLane& lane : m_out.lanes)
            processes.insert(lane.processId);
        GD_TRY_ASSIGN(const auto all, readCommunicators(m_trace));
        const CommMatches matches = match(among(all, processes));
        for (const CommMatches::Group& group : matches.groups())
            take(matches, group);
        std::stable_sort(m_out.collectives.begin(), m_out.collectives.end(),
            [this](const Collective& a, const Collective& b) { return orderOf(a) < orderOf(b); });
        noteWhatIsMissing(matches);
        sumUp();
        return {};
    }

private:
    // In the order of the matches' kernels, where each stands in the lanes.
    CommMatches match(const Communicators& communicators) {
        CommCalls calls;
        std::vector<CommKernel> kernels;
        std::map<std::pair<std::int64_t, std::int64_t>, Arrival> byRow;
        for (std::size_t lane = 0; lane < m_out.lanes.size(); ++lane) {
            const RankLane& own = m_out.lanes[lane];
            for (std::size_t i = 0; i < own.comm.size(); ++i) {
                const CommWork& work = own.comm[i];
                CommKernel kernel;
                kernel.process = own.processId;
                kernel.rowId = work.kernelId;
                kernel.startNs = work.startNs;
                kernel.endNs = work.endNs;
                kernel.name = work.name;
                kernel.oneSided = work.oneSided;
                kernel.call = calls.add({work.commHash, work.kind, work.bytes, work.peer});
                byRow[{kernel.process, kernel.rowId}] = {lane, i};
                kernels.push_back(kernel);
            }
        }
        CommMatches matches(std::move(kernels), std::move(calls), communicators);
        for (const CommKernel& kernel : matches.kernels())
            m_places.push_back(byRow.at({kernel.process, kernel.rowId}));
        return matches;
    }

    const CommWork& workOf(const Arrival& arrival) const {
        return m_out.lanes[arrival.lane].comm[arrival.work];
    }
    std::int64_t orderOf(const Collective& collective) const {
        const std::size_t lane = collective.arrivals.front().lane;
        return workOf(collective.arrivals.front()).startNs - (m_out.oneClock ? 0 : m_out.lanes[lane].startNs);
    }
    void remark(std::int64_t hash, const std::string& what) {
        m_out.notes.push_back(
            fmt::format("communicator {:08x}: {}", static_cast<std::uint64_t>(hash) >> 32, what));
    }

    void take(const CommMatches& matches, const CommMatches::Group& group) {
        Collective one;
        for (const std::uint32_t kernel : group.kernels)
            one.arrivals.push_back(m_places[kernel]);
        std::sort(one.arrivals.begin(), one.arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.lane < b.lane; });
        const CommCall& first = matches.call(group.kernels.front());
        one.kind = group.isMessage ? "send" : first.kind.empty() ? "collective" : first.kind;
        one.commHash = group.commHash;
        one.nranks = group.nranks;
        one.bytes = first.bytes;
        if (!group.isComplete)
            m_incomplete.insert(group.commHash);
        if (group.isOnOneClock)
            compareArrivals(one);
        else
            m_acrossHosts = true;
        if (one.skewNs && group.isComplete)
            deriveWaits(matches, group, one);
        m_out.collectives.push_back(std::move(one));
    }
    void compareArrivals(Collective& one) const {
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
    }
    void deriveWaits(const CommMatches& matches, const CommMatches::Group& group, const Collective& one) {
        std::vector<std::int64_t> starts;
        std::int64_t longest = 0;
        for (const std::uint32_t kernel : group.kernels) {
            const Arrival& place = m_places[kernel];
            CommWork& work = m_out.lanes[place.lane].comm[place.work];
            work.waitNs = matches.waitsUntilNs(kernel) - work.startNs;
            longest = std::max(longest, work.waitNs);
            starts.push_back(work.startNs);
            m_judged.insert(place.lane);
        }
        std::sort(starts.begin(), starts.end());
        m_heldUp[one.lastLane] += std::min(starts.back() - starts[starts.size() - 2], longest);
    }

    void noteWhatIsMissing(const CommMatches& matches) {
        using Refusal = CommMatches::Refusal;
        for (const auto& [hash, why] : matches.refusals())
            remark(hash,
                fmt::format("{}: only what ran at the same time on all of them is compared",
                    why == Refusal::otherNumbers
                        ? "its ranks ran different numbers of collectives in this step"
                        : why == Refusal::otherKinds ? "its ranks ran different collectives in this step"
                                                     : "by their order a rank left a collective before all "
                                                       "had come, so these are not the same calls"));
        std::int64_t open = 0;
        for (std::size_t kernel = 0; kernel < matches.kernels().size(); ++kernel)
            open += matches.groupOf(kernel) == nullptr ? 1 : 0;
        if (open > 0)
            m_out.notes.push_back(
                fmt::format("{} could not be matched with the other ranks: waits inside {} are not known",
                    plural(open, "communication kernel"), open == 1 ? "it" : "them"));
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
    std::vector<Arrival> m_places; // of the matches' kernels
    std::set<std::size_t> m_judged; // lanes whose waits are known
    std::map<std::size_t, std::int64_t> m_heldUp;
    std::set<std::int64_t> m_incomplete;
    bool m_acrossHosts = false;
};

} // namespace

Result<void> matchCollectives(Db& trace, StepComparison& comparison) {
    return Reader(trace, comparison).run();
}

} // namespace gd::report
