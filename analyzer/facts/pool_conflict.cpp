// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/pool_conflict.h"

#include "analyzer/facts/device_wait.h"
#include "analyzer/facts/graph_access.h"
#include "analyzer/facts/stream_order.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace gd::facts {
namespace {

using Role = Access::Role;

// A launched executable that came from a capture, with the addresses of its nodes.
struct User {
    const Exec* exec = nullptr;
    const Graph* graph = nullptr;
    std::int64_t capturedNs = 0;
    const std::vector<Access>* accesses = nullptr;
    std::vector<std::uint64_t> addresses; // sorted, once each
};

// Memory that the graphs of a job hand on to each other, in the order of their captures: what was allocated
// while something was captured, blocks of a framework's pools, and memory of allocation nodes. Other memory
// is the job's own, and in which order it is used is the job's affair.
class PoolMemory {
public:
    explicit PoolMemory(const ProcessData& process) {
        std::vector<std::pair<std::int64_t, std::int64_t>> captures;
        for (const Capture& capture : process.captures)
            captures.emplace_back(capture.startNs, capture.endNs.value_or(process.endNs));
        std::sort(captures.begin(), captures.end());
        for (std::size_t i = 1; i < captures.size(); ++i) // a time lies in one that began by then, if in any
            captures[i].second = std::max(captures[i].second, captures[i - 1].second);
        const auto isCaptured = [&](std::int64_t timeNs) {
            const auto after = std::upper_bound(
                captures.begin(), captures.end(), std::pair(timeNs, std::int64_t{INT64_MAX}));
            return after != captures.begin() && timeNs <= std::prev(after)->second;
        };
        std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
        for (const Allocation& allocation : process.allocations) {
            const bool isBlock = allocation.kind == "framework" && allocation.poolId != 0;
            if (allocation.onDevice()
                && (isBlock || allocation.kind == "graph" || isCaptured(allocation.allocNs)))
                ranges.emplace_back(
                    allocation.address, allocation.address + static_cast<std::uint64_t>(allocation.bytes));
        }
        std::sort(ranges.begin(), ranges.end());
        for (const auto& [from, to] : ranges) {
            if (m_ranges.empty() || m_ranges.back().second < from)
                m_ranges.emplace_back(from, to);
            else
                m_ranges.back().second = std::max(m_ranges.back().second, to);
        }
    }
    bool holds(std::uint64_t address) const {
        const auto after = std::upper_bound(
            m_ranges.begin(), m_ranges.end(), std::pair(address, std::uint64_t{UINT64_MAX}));
        return after != m_ranges.begin() && address < std::prev(after)->second;
    }

private:
    std::vector<std::pair<std::uint64_t, std::uint64_t>> m_ranges; // sorted, apart
};

enum class What : std::uint8_t { order, overlap, again };

struct Found {
    What what = What::order;
    const User* between = nullptr;
    const User* first = nullptr;
    const User* second = nullptr; // null: overlap
    std::uint64_t address = 0;
    std::int64_t addresses = 0;
    bool isWritten = false;
    bool isSure = true; // false: whether anything ordered them was not recorded, or no memory of a pool
    std::set<std::int32_t> steps;
    const Replay* begin = nullptr;
    const Replay* end = nullptr;
};

class Finder {
public:
    Finder(const ProcessData& process, const GraphAccess& accesses)
        : m_process(process)
        , m_pools(process) {
        for (const Exec& exec : process.execs) {
            const Graph* graph = process.templateOf(exec);
            const Capture* capture = graph == nullptr ? nullptr : process.capture(graph->captureId);
            if (capture == nullptr || exec.replays.empty() || accesses.isUpdated(exec.execId))
                continue;
            User user{&exec, graph, capture->startNs, &accesses.of(graph->graphId), {}};
            for (const Access& access : *user.accesses) {
                if (user.addresses.empty() || user.addresses.back() != access.address)
                    user.addresses.push_back(access.address);
            }
            m_users.emplace(exec.execId, std::move(user));
        }
    }

    std::vector<Found> find() {
        findOrders();
        findOverlaps();
        std::vector<Found> result;
        for (auto& [key, found] : m_found)
            result.push_back(std::move(found));
        return result;
    }

private:
    // --- another order than that of the captures ---

    void findOrders() {
        std::vector<const Replay*> step;
        std::int32_t number = -1;
        for (const Replay& replay : m_process.replays) {
            if (replay.step < 0 || replay.result != 0)
                continue;
            if (replay.step != number) {
                judgeStep(step);
                step.clear();
                number = replay.step;
            }
            step.push_back(&replay);
        }
        judgeStep(step);
    }

    // An executable that runs several times in a step has no place of its own in the order.
    void judgeStep(const std::vector<const Replay*>& step) {
        findAgain(step);
        std::map<std::int64_t, int> launches;
        for (const Replay* replay : step)
            ++launches[replay->execId];
        std::vector<std::pair<const Replay*, const User*>> order;
        for (const Replay* replay : step) {
            const auto user = m_users.find(replay->execId);
            if (user != m_users.end() && launches[replay->execId] == 1)
                order.emplace_back(replay, &user->second);
        }
        if (order.size() < 3)
            return;
        std::vector<std::int64_t> key;
        for (const auto& [replay, user] : order)
            key.push_back(user->exec->execId);
        const auto [entry, isNew] = m_orders.try_emplace(std::move(key));
        if (isNew)
            entry->second = brokenOrders(order);
        for (const Broken& broken : entry->second)
            note(broken, order);
    }

    struct Broken {
        std::size_t between = 0; // places in the step
        std::size_t first = 0;
        const User* second = nullptr;
        std::uint64_t address = 0;
        std::int64_t addresses = 0;
        bool isPool = false; // the addresses are a pool's; else none is
    };

    using Order = std::vector<std::pair<const Replay*, const User*>>;
    using BrokenByPair = std::map<std::tuple<std::size_t, std::size_t, const User*>, Broken>;

    // `users`: places of those that use the address, in the order of the step.
    void addBroken(const Order& order, const std::vector<std::size_t>& users, std::uint64_t address,
        bool common, BrokenByPair& result) const {
        const bool isPool = m_pools.holds(address);
        std::vector<std::size_t> captured = users;
        std::sort(captured.begin(), captured.end(), [&](std::size_t a, std::size_t b) {
            return order[a].second->capturedNs < order[b].second->capturedNs;
        });
        for (std::size_t i = 0; i + 1 < captured.size(); ++i) {
            const auto at = std::find(users.begin(), users.end(), captured[i]);
            const bool isLast = at + 1 == users.end();
            // The one that should follow runs later; if it ran before, no one waits for this result.
            if (isLast || *(at + 1) == captured[i + 1] || captured[i + 1] < captured[i])
                continue;
            // One that uses exactly the same memory leaves its results where the first one left its own.
            if (common && order[*(at + 1)].second->addresses != order[captured[i]].second->addresses)
                continue;
            Broken& broken = result[{*(at + 1), captured[i], order[captured[i + 1]].second}];
            if (broken.addresses == 0 || (isPool && !broken.isPool))
                broken = {*(at + 1), captured[i], order[captured[i + 1]].second, address, 1, isPool};
            else
                broken.addresses += isPool == broken.isPool ? 1 : 0;
        }
    }

    // Per address: whoever follows a user of it in the order of captures must follow it in the step, too.
    std::vector<Broken> brokenOrders(const Order& order) const {
        std::map<std::uint64_t, std::vector<std::size_t>> places;
        for (std::size_t i = 0; i < order.size(); ++i) {
            for (const std::uint64_t address : order[i].second->addresses)
                places[address].push_back(i);
        }
        // What every graph of the step uses may be what none of them passes on, such as weights: it comes
        // last.
        const auto isCommon = [&](std::uint64_t address, const std::vector<std::size_t>& users) {
            return users.size() == order.size()
                && std::none_of(order.begin(), order.end(),
                    [&](const auto& entry) { return writes(*entry.second, address); });
        };
        // What all of its users take as const, none of them passes on.
        const auto isOnlyRead = [&](std::uint64_t address, const std::vector<std::size_t>& users) {
            return std::all_of(users.begin(), users.end(),
                [&](std::size_t place) { return onlyReads(*order[place].second, address); });
        };
        BrokenByPair result;
        for (const bool common : {false, true}) {
            for (const auto& [address, users] : places) {
                if (users.size() >= 3 && isCommon(address, users) == common && !isOnlyRead(address, users))
                    addBroken(order, users, address, common, result);
            }
        }
        std::vector<Broken> list;
        for (const auto& [key, broken] : result)
            list.push_back(broken);
        return list;
    }

    void note(const Broken& broken, const std::vector<std::pair<const Replay*, const User*>>& order) {
        const User* between = order[broken.between].second;
        const User* first = order[broken.first].second;
        Found& found = foundFor(
            What::order, *between, *first, broken.second, *order[broken.between].first, broken.address);
        found.isSure = (!found.steps.empty() && found.isSure) || broken.isPool;
        found.addresses = broken.addresses;
        found.steps.insert(order[broken.between].first->step);
        found.end = order[broken.between].first;
    }

    static bool writes(const User& user, std::uint64_t address) {
        return std::any_of(user.accesses->begin(), user.accesses->end(), [&](const Access& access) {
            return access.role == Role::writes && access.address <= address && address < access.end();
        });
    }

    static bool onlyReads(const User& user, std::uint64_t address) {
        return std::all_of(user.accesses->begin(), user.accesses->end(), [&](const Access& access) {
            return access.address != address || access.role == Role::reads
                || access.declared == ParamUse::reads;
        });
    }

    // --- again before its result was used ---

    // Two that pass something on, each launched as often as the other, and the first of them twice in a row.
    void findAgain(const std::vector<const Replay*>& step) {
        std::map<std::int64_t, std::vector<std::size_t>> places;
        for (std::size_t i = 0; i < step.size(); ++i) {
            if (m_users.contains(step[i]->execId))
                places[step[i]->execId].push_back(i);
        }
        for (const auto& [execId, at] : places) {
            const User& user = m_users.at(execId);
            if (at.size() < 2)
                continue;
            const auto [entry, isNew] = m_partners.try_emplace(execId);
            if (isNew)
                entry->second = partnersOf(user);
            for (const auto& [partner, address] : entry->second) {
                const auto theirs = places.find(partner->exec->execId);
                if (theirs == places.end() || theirs->second.size() != at.size() || theirs->second[0] < at[1])
                    continue;
                Found& found = foundFor(What::again, user, user, partner, *step[at[1]], address);
                found.isSure = m_pools.holds(address);
                found.steps.insert(step[at[1]]->step);
                found.end = step[at[1]];
            }
        }
    }

    using Partners = std::vector<std::pair<const User*, std::uint64_t>>;

    // Captured later, and using an address that nobody else does.
    Partners partnersOf(const User& user) const {
        Partners partners;
        for (const std::uint64_t address : user.addresses) {
            const User* partner = nullptr;
            bool isPrivate = true;
            for (const auto& [id, other] : m_users) {
                if (&other == &user
                    || !std::binary_search(other.addresses.begin(), other.addresses.end(), address))
                    continue;
                isPrivate = isPrivate && partner == nullptr;
                partner = &other;
            }
            if (partner == nullptr || !isPrivate || partner->capturedNs < user.capturedNs)
                continue;
            const auto known = std::find_if(partners.begin(), partners.end(),
                [&, at = partner](const auto& entry) { return entry.first == at; });
            if (known == partners.end())
                partners.emplace_back(partner, address);
            else if (!m_pools.holds(known->second) && m_pools.holds(address))
                known->second = address;
        }
        return partners;
    }

    Found& foundFor(What what, const User& between, const User& first, const User* second,
        const Replay& begin, std::uint64_t address) {
        Found& found = m_found[{
            what, between.exec->execId, first.exec->execId, second == nullptr ? 0 : second->exec->execId}];
        if (found.between == nullptr)
            found = {what, &between, &first, second, address, 1, writes(between, address), true, {}, &begin,
                &begin};
        return found;
    }

    // --- at the same time ---

    void findOverlaps() {
        std::vector<const Replay*> byStart;
        for (const Replay& replay : m_process.replays) {
            if (replay.measured && replay.result == 0 && m_users.contains(replay.execId))
                byStart.push_back(&replay);
        }
        std::stable_sort(byStart.begin(), byStart.end(),
            [](const Replay* a, const Replay* b) { return a->startNs < b->startNs; });
        std::vector<const Replay*> open;
        for (const Replay* replay : byStart) {
            std::erase_if(open,
                [&](const Replay* other) { return other->endNs <= replay->startNs + kClockUncertaintyNs; });
            for (const Replay* other : open) {
                if (other->deviceId == replay->deviceId && other->execId != replay->execId
                    && !sameStream(*other, *replay))
                    judgeOverlap(*other, *replay);
            }
            open.push_back(replay);
        }
    }

    // A stream runs one replay after the other, whatever the times say.
    static bool sameStream(const Replay& a, const Replay& b) {
        return a.streamId != 0 && a.streamId == b.streamId;
    }

    void judgeOverlap(const Replay& a, const Replay& b) {
        const User* first = &m_users.at(a.execId);
        const User* second = &m_users.at(b.execId);
        std::optional<std::uint64_t> address = writtenInCommon(*first, *second);
        if (!address) {
            std::swap(first, second);
            address = writtenInCommon(*first, *second);
        }
        // What waits for the other's event does not run beside it, whatever the times say.
        if (!address || order().isBefore(a, b) || order().isBefore(b, a))
            return;
        const auto [from, to] = std::minmax(a.launchStartNs, b.launchStartNs);
        const bool isSure = m_process.complete("callbacks", from, to + 1) && !usesEvents(*first->graph)
            && !usesEvents(*second->graph);
        Found& found = foundFor(What::overlap, *first, *second, nullptr, b, *address);
        found.isWritten = true;
        found.isSure = found.steps.empty() ? isSure : found.isSure || isSure;
        found.steps.insert(b.step);
        found.end = &b;
    }

    const StreamOrder& order() {
        if (!m_order)
            m_order.emplace(m_process);
        return *m_order;
    }

    // Nodes that wait for an event or record one: which one is not recorded.
    bool usesEvents(const Graph& graph) const {
        return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](std::int32_t index) {
            const std::string& type = m_process.nodes[static_cast<std::size_t>(index)].type;
            return type == "wait_event" || type == "event_record";
        });
    }

    // What `writer` is known to write and `other` uses.
    std::optional<std::uint64_t> writtenInCommon(const User& writer, const User& other) {
        const auto [entry, isNew]
            = m_common.try_emplace({writer.exec->execId, other.exec->execId}, std::nullopt);
        if (!isNew)
            return entry->second;
        for (const Access& access : *writer.accesses) {
            if (access.role != Role::writes)
                continue;
            const auto at = std::lower_bound(other.addresses.begin(), other.addresses.end(), access.address);
            if (at != other.addresses.end() && *at < access.end()) {
                entry->second = *at;
                break;
            }
        }
        return entry->second;
    }

    const ProcessData& m_process;
    PoolMemory m_pools;
    std::optional<StreamOrder> m_order; // made when the first two overlap
    std::map<std::int64_t, User> m_users;
    std::map<std::vector<std::int64_t>, std::vector<Broken>> m_orders; // by executables in their order
    std::map<std::pair<std::int64_t, std::int64_t>, std::optional<std::uint64_t>> m_common;
    std::map<std::int64_t, Partners> m_partners; // by executable
    std::map<std::tuple<What, std::int64_t, std::int64_t, std::int64_t>, Found> m_found;
};

Result<void> write(Statement& insert, const ProcessData& process, const Found& found) {
    const auto nameOf = [&](const User& user) { return process.graphName(user.graph, user.exec->execId); };
    const Capture* capture = process.capture(found.between->graph->captureId);
    const std::int64_t launched = found.between->exec->launchStackId;
    const char* what = found.what == What::order ? "order"
        : found.what == What::overlap            ? "overlap"
                                                 : "again";
    return insert.runWith(process.processId, what, found.between->exec->execId, nameOf(*found.between),
        found.first->exec->execId, nameOf(*found.first),
        found.second == nullptr ? std::nullopt : std::optional(found.second->exec->execId),
        found.second == nullptr ? std::nullopt : std::optional(nameOf(*found.second)), found.addresses,
        static_cast<std::int64_t>(found.address), static_cast<std::int64_t>(found.steps.size()),
        found.begin->launchStartNs, found.end->launchEndNs, process.stepNumberAt(found.begin->launchStartNs),
        orNull(std::int64_t{found.begin->threadId}),
        launched != 0 ? orNull(launched) : orNull(capture->beginStackId),
        !found.isSure         ? "low"
            : found.isWritten ? "high"
                              : "medium");
}

} // namespace

Result<void> buildPoolConflict(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO pool_conflict VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
    for (const ProcessData& process : context.raw.processes) {
        if (process.execs.size() < 2)
            continue;
        GD_TRY_ASSIGN(const GraphAccess accesses, GraphAccess::read(context.db, process));
        for (const Found& found : Finder(process, accesses).find())
            GD_TRY(write(insert, process, found));
    }
    return {};
}

} // namespace gd::facts
