// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/unordered_copy.h"

#include "analyzer/facts/graph_access.h"
#include "analyzer/facts/stream_kinds.h"
#include "analyzer/facts/stream_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace gd::facts {
namespace {

// Records of one device that overlap by less may as well touch: CUPTI's times of work that follows on each
// other differ by some hundred ns.
constexpr std::int64_t kLeastOverlapNs = 1'000;

// Memory that an executable's nodes touch.
class Touched {
public:
    explicit Touched(const std::vector<Access>& accesses) {
        std::uint64_t end = 0;
        for (const Access& access : accesses) {
            end = std::max(end, access.end());
            m_parts.push_back({access.address, access.end(), end});
        }
    }

    // First byte of [from, end) that is touched.
    std::optional<std::uint64_t> in(std::uint64_t from, std::uint64_t end) const {
        const auto behind = std::partition_point(
            m_parts.begin(), m_parts.end(), [&](const Part& part) { return part.from < end; });
        if (behind == m_parts.begin() || std::prev(behind)->furthest <= from)
            return std::nullopt;
        const auto first
            = std::find_if(m_parts.begin(), behind, [&](const Part& part) { return part.end > from; });
        return std::max(first->from, from);
    }

private:
    struct Part {
        std::uint64_t from = 0;
        std::uint64_t end = 0;
        std::uint64_t furthest = 0; // end of this part and of those before it
    };
    std::vector<Part> m_parts; // by address
};

// A copy or fill that the job put into a stream itself.
struct Copy {
    const ApiCall* call = nullptr;
    const DeviceOp* op = nullptr;
};

struct Found {
    const Exec* exec = nullptr;
    const Graph* graph = nullptr;
    const Copy* copy = nullptr; // the first
    const Replay* replay = nullptr; // beside the first
    std::uint64_t address = 0;
    std::set<const Copy*> copies;
    std::int64_t overlapNs = 0;
    std::int64_t endNs = 0;
    bool isSure = true;
    std::int64_t stackId = 0; // of a copy
};

class Finder {
public:
    Finder(const ProcessData& process, const StreamKinds& streams)
        : m_process(process)
        , m_streams(streams) { }

    void addExec(const Exec& exec, const Graph& graph, const std::vector<Access>& accesses) {
        m_users.emplace(exec.execId, User{&exec, &graph, Touched(accesses)});
    }

    // Some copy ran at the same time as a replay of another stream, whatever memory they use.
    bool hasCandidates() {
        findCopies();
        bool has = false;
        sweep([&](const Copy& copy, const Replay& replay) {
            has = has || overlapNs(copy, replay) > 0;
            return !has;
        });
        return has;
    }

    std::vector<Found> find() {
        sweep([&](const Copy& copy, const Replay& replay) {
            judge(copy, replay);
            return true;
        });
        std::vector<Found> result;
        for (auto& [execId, found] : m_found)
            result.push_back(std::move(found));
        return result;
    }

private:
    struct User {
        const Exec* exec = nullptr;
        const Graph* graph = nullptr;
        Touched touched;
    };

    // Calls with a record of what they did on the device: what was captured has none.
    void findCopies() {
        std::unordered_map<std::int64_t, const DeviceOp*> ops;
        for (const DeviceOp& op : m_process.ops) {
            if (op.kind != DeviceOp::Kind::kernel && !op.inGraph && op.correlation != 0)
                ops.emplace(op.correlation, &op);
        }
        std::set<std::int64_t> mixed; // streams ordered by values in memory, which are not followed
        for (const ApiCall& call : m_process.calls) {
            if (call.known == KnownCall::waitValue)
                mixed.insert(call.streamId);
        }
        for (const ApiCall& call : m_process.calls) {
            const bool copies = call.apiClass == ApiClass::copy || call.apiClass == ApiClass::copySync;
            if (!copies || call.result != 0 || call.objectId == 0 || call.bytes <= 0 || call.streamId == 0
                || mixed.contains(call.streamId))
                continue;
            if (const auto op = ops.find(call.correlation); op != ops.end())
                m_copies.push_back({&call, op->second});
        }
        std::stable_sort(m_copies.begin(), m_copies.end(),
            [](const Copy& a, const Copy& b) { return a.call->startNs < b.call->startNs; });
    }

    // Calls `meet` for each copy and replay that overlap, in the order in which they started on the device,
    // until it returns false.
    template <class Meet> void sweep(const Meet& meet) const {
        std::vector<const Copy*> copies;
        for (const Copy& copy : m_copies)
            copies.push_back(&copy);
        std::stable_sort(copies.begin(), copies.end(),
            [](const Copy* a, const Copy* b) { return a->op->startNs < b->op->startNs; });
        std::vector<const Replay*> replays;
        for (const Replay& replay : m_process.replays) {
            if (replay.measured && replay.result == 0 && replay.streamId != 0)
                replays.push_back(&replay);
        }
        std::stable_sort(replays.begin(), replays.end(),
            [](const Replay* a, const Replay* b) { return a->startNs < b->startNs; });
        std::vector<const Replay*> openReplays;
        std::vector<const Copy*> openCopies;
        auto copy = copies.begin();
        auto replay = replays.begin();
        while (copy != copies.end() || replay != replays.end()) {
            const bool isCopy = replay == replays.end()
                || (copy != copies.end() && (*copy)->op->startNs < (*replay)->startNs);
            const std::int64_t nowNs = isCopy ? (*copy)->op->startNs : (*replay)->startNs;
            std::erase_if(openReplays, [&](const Replay* open) { return open->endNs <= nowNs; });
            std::erase_if(openCopies, [&](const Copy* open) { return open->op->endNs <= nowNs; });
            bool goOn = true;
            if (isCopy) {
                for (const Replay* open : openReplays)
                    goOn = goOn && meet(**copy, *open);
                openCopies.push_back(*copy++);
            } else {
                for (const Copy* open : openCopies)
                    goOn = goOn && meet(*open, **replay);
                openReplays.push_back(*replay++);
            }
            if (!goOn)
                return;
        }
    }

    // 0: they may follow on each other.
    std::int64_t overlapNs(const Copy& copy, const Replay& replay) const {
        const std::int64_t bothNs
            = std::min(copy.op->endNs, replay.endNs) - std::max(copy.op->startNs, replay.startNs);
        const bool mayOverlap = copy.op->deviceId == replay.deviceId && copy.call->streamId != replay.streamId
            && !m_streams.areOrdered(copy.call->streamId, replay.streamId);
        return mayOverlap && bothNs >= kLeastOverlapNs ? bothNs : 0;
    }

    void judge(const Copy& copy, const Replay& replay) {
        const std::int64_t bothNs = overlapNs(copy, replay);
        const auto user = m_users.find(replay.execId);
        if (bothNs == 0 || user == m_users.end())
            return;
        const auto from = static_cast<std::uint64_t>(copy.call->objectId);
        const std::optional<std::uint64_t> address
            = user->second.touched.in(from, from + static_cast<std::uint64_t>(copy.call->bytes));
        if (address && !order().isOrdered(replay, static_cast<std::size_t>(&copy - m_copies.data())))
            note(user->second, copy, replay, *address, bothNs);
    }

    void note(const User& user, const Copy& copy, const Replay& replay, std::uint64_t address,
        std::int64_t bothNs) {
        const auto [fromNs, toNs] = std::minmax(copy.call->startNs, replay.launchStartNs);
        const bool isSure = m_process.complete("callbacks", fromNs, toNs + 1);
        const auto [entry, isNew] = m_found.try_emplace(user.exec->execId);
        Found& found = entry->second;
        if (isNew)
            found = {user.exec, user.graph, &copy, &replay, address, {}, 0, 0, isSure, 0};
        found.copies.insert(&copy);
        found.overlapNs = std::max(found.overlapNs, bothNs);
        found.endNs = std::max(found.endNs, std::max(copy.op->endNs, replay.endNs));
        found.isSure = found.isSure || isSure;
        found.stackId = found.stackId != 0 ? found.stackId : copy.call->stackId;
    }

    const StreamOrder& order() {
        if (!m_order) {
            std::vector<const ApiCall*> calls;
            for (const Copy& copy : m_copies)
                calls.push_back(copy.call);
            m_order.emplace(m_process, calls);
        }
        return *m_order;
    }

    const ProcessData& m_process;
    const StreamKinds& m_streams;
    std::optional<StreamOrder> m_order; // made when the first two overlap
    std::map<std::int64_t, User> m_users;
    std::vector<Copy> m_copies; // by call
    std::map<std::int64_t, Found> m_found; // by executable
};

// Where a copy's stream launches the executable, too; nullptr: it does not.
const Replay* launchBeside(const ProcessData& process, const Found& found) {
    const Replay* result = nullptr;
    for (const std::int32_t index : found.exec->replays) {
        const Replay& replay = process.replays[static_cast<std::size_t>(index)];
        if (replay.result != 0 || replay.streamId != found.copy->call->streamId)
            continue;
        if (result == nullptr || (result->stackId == 0 && replay.stackId != 0))
            result = &replay;
    }
    return result;
}

Result<void> write(Statement& insert, const RawData& raw, const ProcessData& process, const Found& found) {
    const ApiCall& call = *found.copy->call;
    const Replay* launch = launchBeside(process, found);
    const Capture* capture = process.capture(found.graph->captureId);
    std::int64_t stack = launch != nullptr ? launch->stackId : found.stackId;
    for (const std::int64_t other : {found.exec->launchStackId, found.stackId, found.exec->stackId,
             capture == nullptr ? 0 : capture->beginStackId})
        stack = stack != 0 ? stack : other;
    std::int64_t replays = 0;
    for (const std::int32_t index : found.exec->replays)
        replays += process.replays[static_cast<std::size_t>(index)].result == 0 ? 1 : 0;
    return insert.runWith(process.processId, found.exec->execId,
        process.graphName(found.graph, found.exec->execId), raw.apiName(call.apiId), call.streamId,
        found.replay->streamId, std::int64_t{launch != nullptr}, static_cast<std::int64_t>(found.address),
        call.bytes, static_cast<std::int64_t>(found.copies.size()), replays, found.overlapNs,
        std::min(call.startNs, found.replay->launchStartNs), found.endNs,
        process.stepNumberAt(found.replay->launchStartNs), orNull(std::int64_t{call.threadId}), orNull(stack),
        found.isSure ? "medium" : "low");
}

// Nodes that wait for an event, record one or wait for a value: parts of such a graph may be ordered.
bool hasWaits(const ProcessData& process, const NestedGraph& graph) {
    return std::any_of(graph.places.begin(), graph.places.end(), [&](const NestedGraph::Place& place) {
        const std::string& type = process.nodes[static_cast<std::size_t>(place.node)].type;
        return type == "wait_event" || type == "event_record" || type == "other";
    });
}

Result<void> writeProcess(FactContext& context, const ProcessData& process, Statement& insert) {
    if (process.replays.empty())
        return {};
    GD_TRY_ASSIGN(const StreamKinds streams, StreamKinds::read(context.db, process.processId));
    Finder finder(process, streams);
    if (!finder.hasCandidates())
        return {};
    GD_TRY_ASSIGN(const GraphAccess accesses, GraphAccess::read(context.db, process));
    const NodesInside inside = nodesInside(process);
    for (const Exec& exec : process.execs) {
        const Graph* graph = process.templateOf(exec);
        if (graph == nullptr || exec.replays.empty() || accesses.isUpdated(exec.execId))
            continue;
        const NestedGraph nested(process, *graph, inside);
        if (!hasWaits(process, nested))
            finder.addExec(
                exec, *graph, nested.isFlat() ? accesses.of(graph->graphId) : accesses.inside(nested));
    }
    for (const Found& found : finder.find())
        GD_TRY(write(insert, context.raw, process, found));
    return {};
}

} // namespace

Result<void> buildUnorderedCopy(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO unordered_copy VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?)"));
    for (const ProcessData& process : context.raw.processes)
        GD_TRY(writeProcess(context, process, insert));
    return {};
}

} // namespace gd::facts
