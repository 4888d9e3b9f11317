// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/comm/matches.h"

#include "analyzer/report/comm/order.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace gd::report {
namespace {

// Clocks of processes on one host agree this well.
constexpr std::int64_t kSlackNs = 2'000;
// Ranks leave a collective at slightly different times, so one may touch the next: what overlaps this many
// times longer than anything else is meant.
constexpr std::int64_t kClear = 4;

} // namespace

CommMatches::CommMatches(std::vector<CommKernel> kernels, CommCalls calls, const Communicators& communicators)
    : m_kernels(std::move(kernels))
    , m_calls(std::move(calls)) {
    std::sort(m_kernels.begin(), m_kernels.end(), [](const CommKernel& a, const CommKernel& b) {
        return std::tie(a.process, a.startNs, a.rowId) < std::tie(b.process, b.startNs, b.rowId);
    });
    for (std::uint32_t i = 0; i < m_kernels.size(); ++i) {
        const auto at = m_ofProcess.try_emplace(m_kernels[i].process, i, i).first;
        at->second.second = i + 1;
    }
    m_group.assign(m_kernels.size(), kNone);
    for (const auto& comm : communicators) {
        if (comm.first != 0 && comm.second.members.size() > 1) {
            matchByOrder(comm);
            matchMessages(comm);
        }
    }
    matchByTime(communicators);
}

template <class F> CommMatches::List CommMatches::listOf(std::int64_t process, F&& wanted) const {
    List out;
    const auto range = m_ofProcess.find(process);
    if (range == m_ofProcess.end())
        return out;
    for (std::uint32_t i = range->second.first; i < range->second.second; ++i) {
        if (wanted(call(i)))
            out.push_back(i);
    }
    return out;
}

void CommMatches::matchByOrder(const Member& comm) {
    const auto& [hash, communicator] = comm;
    std::vector<List> lists;
    std::set<std::size_t> counts;
    for (const auto& [process, member] : communicator.members) {
        lists.push_back(listOf(process, [hash = hash](const CommCall& call) {
            return call.commHash == hash && isCollective(call.kind);
        }));
        counts.insert(lists.back().size());
    }
    if (counts.size() > 1) {
        m_refusals[hash] = Refusal::otherNumbers;
        return;
    }
    std::vector<std::vector<std::string_view>> kinds(lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i) {
        for (const std::uint32_t kernel : lists[i])
            kinds[i].emplace_back(call(kernel).kind);
    }
    if (alikeByOrder(kinds) < *counts.begin()) {
        m_refusals[hash] = Refusal::otherKinds;
        return;
    }
    std::vector<Group> found;
    for (std::size_t i = 0; i < *counts.begin(); ++i) {
        List kernels;
        for (const List& list : lists)
            kernels.push_back(list[i]);
        found.push_back(groupOfKernels(comm, std::move(kernels)));
        if (contradicts(found.back())) {
            m_refusals[hash] = Refusal::contradiction;
            return;
        }
    }
    for (Group& group : found)
        keep(std::move(group));
}

// Nobody is done before all that it needs had come; only a small message may have left for its receiver.
bool CommMatches::contradicts(const Group& group) const {
    return group.isOnOneClock
        && std::any_of(group.kernels.begin(), group.kernels.end(), [&](std::uint32_t kernel) {
               return call(kernel).kind != "send"
                   && neededNs(group, kernel) > m_kernels[kernel].endNs + kSlackNs;
           });
}

// The n-th send of one rank to another is the n-th receive there.
void CommMatches::matchMessages(const Member& comm) {
    const auto side = [&](std::int64_t process, const char* kind, std::int64_t peer) {
        return listOf(process, [&](const CommCall& call) {
            return call.commHash == comm.first && call.kind == kind && call.peer == peer;
        });
    };
    for (const auto& [from, sender] : comm.second.members) {
        for (const auto& [to, receiver] : comm.second.members) {
            if (from == to)
                continue;
            const List sends = side(from, "send", receiver.rank);
            const List receives = sends.empty() ? List() : side(to, "recv", sender.rank);
            if (sends.size() != receives.size())
                continue;
            std::vector<Group> found;
            for (std::size_t i = 0; i < sends.size(); ++i)
                found.push_back(
                    groupOfKernels(comm, {std::min(sends[i], receives[i]), std::max(sends[i], receives[i])}));
            if (std::any_of(
                    found.begin(), found.end(), [this](const Group& one) { return contradicts(one); }))
                continue;
            for (Group& group : found)
                keep(std::move(group));
        }
    }
}

CommMatches::Group CommMatches::groupOfKernels(const Member& comm, List kernels) const {
    const auto memberOf = [&](std::uint32_t kernel) -> const Communicator::Member& {
        return comm.second.members.at(m_kernels[kernel].process);
    };
    Group out;
    out.commHash = comm.first;
    out.kernels = std::move(kernels);
    const CommCall& first = call(out.kernels.front());
    out.isMessage = isMessage(first.kind);
    out.nranks = out.isMessage ? 2 : comm.second.nranks;
    out.isComplete = static_cast<std::int64_t>(out.kernels.size()) == out.nranks;
    out.isOnOneClock = std::all_of(out.kernels.begin(), out.kernels.end(),
        [&](std::uint32_t kernel) { return memberOf(kernel).host == memberOf(out.kernels.front()).host; });
    if (first.kind == "broadcast" || first.kind == "reduce") {
        for (const std::uint32_t kernel : out.kernels) {
            if (memberOf(kernel).rank == call(kernel).peer)
                out.root = kernel;
        }
    }
    return out;
}

void CommMatches::keep(Group group) {
    for (const std::uint32_t kernel : group.kernels)
        m_group[kernel] = static_cast<std::uint32_t>(m_groups.size());
    m_groups.push_back(std::move(group));
}

void CommMatches::matchByTime(const Communicators& communicators) {
    Lists lists;
    for (std::uint32_t i = 0; i < m_kernels.size(); ++i) {
        if (m_group[i] == kNone && !m_kernels[i].oneSided && !isMessage(call(i).kind))
            lists[{m_kernels[i].process, m_kernels[i].name}].push_back(i);
    }
    // What each kernel would belong to, seen from it; a collective is what all its kernels agree on.
    std::map<std::uint32_t, std::pair<List, const Member*>> seen;
    for (const auto& [key, list] : lists) {
        for (const std::uint32_t kernel : list) {
            List own;
            const Member* of = nullptr;
            bool two = false;
            for (const Member& comm : communicators) {
                List found = candidate(kernel, comm, lists);
                if (found.empty())
                    continue;
                // Two communicators of the same ranks make no difference.
                two = two || (!own.empty() && own != found);
                own = std::move(found);
                of = &comm;
            }
            if (!two && !own.empty())
                seen[kernel] = {std::move(own), of};
        }
    }
    for (const auto& [kernel, candidates] : seen) {
        const auto& [group, comm] = candidates;
        const bool agreed = std::all_of(group.begin(), group.end(), [&, &own = group](std::uint32_t other) {
            const auto at = seen.find(other);
            return at != seen.end() && at->second.first == own;
        });
        if (agreed && group.front() == kernel)
            keep(groupOfKernels(*comm, group));
    }
}

// The kernel of each member that overlaps this one, sorted; empty: a member has none or it is not clear
// which, or they are not all there at one moment.
CommMatches::List CommMatches::candidate(std::uint32_t kernel, const Member& comm, const Lists& lists) const {
    const CommKernel& own = m_kernels[kernel];
    const auto fits = [&](std::uint32_t other) {
        const CommCall& known = call(other);
        return (known.commHash == 0 || known.commHash == comm.first)
            && (known.kind.empty() || call(kernel).kind.empty() || known.kind == call(kernel).kind);
    };
    List out;
    if (!comm.second.isComplete() || !comm.second.isOnOneHost() || !fits(kernel)
        || !comm.second.members.contains(own.process))
        return out;
    std::int64_t lastStart = own.startNs;
    std::int64_t firstEnd = own.endNs;
    for (const auto& [process, member] : comm.second.members) {
        if (process == own.process) {
            out.push_back(kernel);
            continue;
        }
        const auto list = lists.find({process, own.name});
        if (list == lists.end())
            return {};
        // Kernels of one name of a process hardly ever overlap, so ends rise as starts do.
        auto at = std::partition_point(list->second.begin(), list->second.end(),
            [&](std::uint32_t other) { return m_kernels[other].endNs <= own.startNs; });
        std::uint32_t match = kNone;
        std::int64_t most = 0;
        std::int64_t next = 0;
        for (; at != list->second.end() && m_kernels[*at].startNs < own.endNs; ++at) {
            if (!fits(*at))
                continue;
            const std::int64_t overlap
                = std::min(m_kernels[*at].endNs, own.endNs) - std::max(m_kernels[*at].startNs, own.startNs);
            next = std::max(next, std::min(overlap, most));
            if (overlap > most) {
                most = overlap;
                match = *at;
            }
        }
        if (match == kNone || next * kClear > most)
            return {};
        lastStart = std::max(lastStart, m_kernels[match].startNs);
        firstEnd = std::min(firstEnd, m_kernels[match].endNs);
        out.push_back(match);
    }
    if (lastStart >= firstEnd)
        return {};
    std::sort(out.begin(), out.end());
    return out;
}

const CommMatches::Group* CommMatches::groupOf(std::size_t kernel) const {
    return kernel < m_group.size() && m_group[kernel] != kNone ? &m_groups[m_group[kernel]] : nullptr;
}

std::int64_t CommMatches::neededNs(const Group& group, std::size_t kernel) const {
    const std::string& kind = call(kernel).kind;
    std::int64_t last = m_kernels[kernel].startNs;
    if (kind == "reduce" && group.root != kernel)
        return last;
    if (kind == "broadcast")
        return group.root == kNone ? last : m_kernels[group.root].startNs;
    for (const std::uint32_t other : group.kernels)
        last = std::max(last, m_kernels[other].startNs);
    return last;
}

std::int64_t CommMatches::waitsUntilNs(std::size_t kernel) const {
    const Group* const group = groupOf(kernel);
    if (group == nullptr || !group->isComplete || !group->isOnOneClock)
        return -1;
    return std::clamp(neededNs(*group, kernel), m_kernels[kernel].startNs, m_kernels[kernel].endNs);
}

std::size_t CommMatches::find(std::int64_t process, std::int64_t rowId, std::int64_t startNs) const {
    const auto at = std::lower_bound(m_kernels.begin(), m_kernels.end(), std::tie(process, startNs, rowId),
        [](const CommKernel& kernel, const auto& key) {
            return std::tie(kernel.process, kernel.startNs, kernel.rowId) < key;
        });
    const bool isThere
        = at != m_kernels.end() && at->process == process && at->rowId == rowId && at->startNs == startNs;
    return isThere ? static_cast<std::size_t>(at - m_kernels.begin()) : m_kernels.size();
}

} // namespace gd::report
