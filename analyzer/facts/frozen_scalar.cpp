// SPDX-License-Identifier: Apache-2.0
// Finds words that eager runs of a region pass with changing values and that its graph repeats.
#include "analyzer/facts/node_place.h"
#include "analyzer/facts/passes.h"
#include "analyzer/facts/scalar_series.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace gd::facts {
namespace {

struct Launch {
    std::int64_t shapeId = 0;
    std::int64_t scalarSet = 0; // 0 = none
};

using Place = std::pair<std::int64_t, std::int64_t>; // parameter, offset
using Words = std::map<Place, Word>;

struct Evidence {
    std::vector<Launch> launches; // by time
    std::map<std::int64_t, Words> sets; // launch_scalar
    std::map<std::int64_t, Words> nodes; // node_scalar
    std::set<std::int64_t> updatedExecs;
};

template <class Use> Result<void> eachRow(Db& db, std::string_view sql, std::int64_t processId, Use use) {
    GD_TRY_ASSIGN(auto select, db.prepare(sql));
    select.bind(1, processId);
    for (;;) {
        GD_TRY_ASSIGN(const bool more, select.step());
        if (!more)
            return {};
        use(select);
    }
}

Result<Evidence> readEvidence(Db& db, std::int64_t processId) {
    Evidence evidence;
    GD_TRY(eachRow(db,
        "SELECT shape_id, scalar_set_id FROM eager_launch WHERE process_id = ? ORDER BY time_ns, launch_id",
        processId, [&](Statement& row) {
            evidence.launches.push_back({row.int64(0), row.int64(1)});
        }));
    if (evidence.launches.empty())
        return evidence;
    const auto keep = [](std::map<std::int64_t, Words>& into) {
        return [&into](Statement& row) {
            into[row.int64(0)][{row.int64(1), row.int64(2)}]
                = {static_cast<int>(row.int64(3)), static_cast<std::uint64_t>(row.int64(4))};
        };
    };
    GD_TRY(eachRow(db,
        "SELECT scalar_set_id, param, offset, bytes, value FROM launch_scalar WHERE process_id = ?",
        processId, keep(evidence.sets)));
    GD_TRY(eachRow(db, "SELECT node_id, param, offset, bytes, value FROM node_scalar WHERE process_id = ?",
        processId, keep(evidence.nodes)));
    GD_TRY(eachRow(db,
        "SELECT exec_id FROM exec_update WHERE process_id = ?1 AND result = 0 UNION "
        "SELECT object_id FROM api_call JOIN api USING (api_id) WHERE process_id = ?1 AND result = 0 "
        "AND name IN ('cuGraphExecKernelNodeSetParams', 'cuGraphExecNodeSetParams')",
        processId, [&](Statement& row) { evidence.updatedExecs.insert(row.int64(0)); }));
    return evidence;
}

// Where `pattern` begins in `sequence`, without overlaps (Knuth, Morris and Pratt).
std::vector<std::size_t> occurrences(
    const std::vector<Launch>& sequence, const std::vector<const Node*>& pattern) {
    std::vector<std::size_t> found;
    const std::size_t size = pattern.size();
    std::vector<std::size_t> border(size, 0);
    for (std::size_t i = 1, k = 0; i < size; ++i) {
        while (k > 0 && pattern[i]->shapeId != pattern[k]->shapeId)
            k = border[k - 1];
        k += pattern[i]->shapeId == pattern[k]->shapeId ? 1 : 0;
        border[i] = k;
    }
    for (std::size_t i = 0, k = 0; i < sequence.size(); ++i) {
        while (k > 0 && sequence[i].shapeId != pattern[k]->shapeId)
            k = border[k - 1];
        k += sequence[i].shapeId == pattern[k]->shapeId ? 1 : 0;
        if (k == size) {
            found.push_back(i + 1 - size);
            k = 0;
        }
    }
    return found;
}

struct Frozen {
    const Node* node = nullptr;
    std::int64_t nodes = 0;
    Place place;
    Series series;
    std::size_t eagerRuns = 0;
};

std::vector<const Node*> kernelsOf(const ProcessData& process, const Graph& graph) {
    std::vector<const Node*> kernels;
    for (const std::int32_t index : graph.nodes) {
        const Node& node = process.nodes[static_cast<std::size_t>(index)];
        if (node.type == "kernel")
            kernels.push_back(&node);
    }
    return kernels;
}

std::vector<std::string_view> namesOf(const std::vector<const Node*>& kernels) {
    std::vector<std::string_view> names;
    for (const Node* kernel : kernels)
        names.emplace_back(kernel->name);
    return names;
}

// Words in which graphs of the same kernels differ that were replayed, whatever their launch shapes: the job
// has a graph for each of their values (a length, a batch size, a layer), so none of them is frozen by
// mistake. A graph of the first layer may have fewer kernels than those of the others, which then contain its
// own.
class KeyWords {
public:
    KeyWords(const Evidence& evidence, const ProcessData& process)
        : m_evidence(evidence) {
        for (const Exec& exec : process.execs) {
            const Graph* graph = process.templateOf(exec);
            if (graph != nullptr && !exec.replays.empty())
                add(kernelsOf(process, *graph));
        }
    }
    // Number of the sequence of kernels, 0 for one that no replayed graph has.
    std::size_t sequence(const std::vector<const Node*>& kernels) const {
        const auto known = m_sequences.find(namesOf(kernels));
        return known == m_sequences.end() ? 0 : known->second;
    }
    bool contains(std::size_t sequence, std::size_t kernel, const Place& place, std::uint64_t value) const {
        const auto isKey = [&](std::size_t other, std::size_t at) {
            const auto words = m_words.find({other, at, place});
            return words != m_words.end() && (words->second.differs || words->second.value != value);
        };
        const std::vector<Within>& longer = longerOnes(sequence);
        return isKey(sequence, kernel)
            || std::any_of(longer.begin(), longer.end(),
                [&](const Within& within) { return isKey(within.sequence, within.offset + kernel); });
    }

private:
    struct Seen {
        std::uint64_t value = 0;
        bool differs = false;
    };
    struct Within {
        std::size_t sequence = 0;
        std::size_t offset = 0;
    };

    // Where other graphs hold the kernels of this one.
    const std::vector<Within>& longerOnes(std::size_t sequence) const {
        const auto [entry, isNew] = m_longer.try_emplace(sequence);
        const auto own = std::find_if(m_sequences.begin(), m_sequences.end(),
            [&](const auto& known) { return known.second == sequence; });
        if (!isNew || own == m_sequences.end())
            return entry->second;
        const std::boyer_moore_searcher search(own->first.begin(), own->first.end());
        for (const auto& [names, number] : m_sequences) {
            if (names.size() <= own->first.size())
                continue;
            for (auto at = std::search(names.begin(), names.end(), search); at != names.end();
                 at = std::search(at + 1, names.end(), search))
                entry->second.push_back({number, static_cast<std::size_t>(at - names.begin())});
        }
        return entry->second;
    }

    void add(const std::vector<const Node*>& kernels) {
        const std::size_t number
            = m_sequences.try_emplace(namesOf(kernels), m_sequences.size() + 1).first->second;
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            const auto words = m_evidence.nodes.find(kernels[i]->nodeId);
            if (words == m_evidence.nodes.end())
                continue;
            for (const auto& [place, word] : words->second) {
                const auto seen = m_words.try_emplace({number, i, place}, Seen{word.value}).first;
                seen->second.differs = seen->second.differs || seen->second.value != word.value;
            }
        }
    }

    const Evidence& m_evidence;
    std::map<std::vector<std::string_view>, std::size_t> m_sequences;
    std::map<std::tuple<std::size_t, std::size_t, Place>, Seen> m_words;
    mutable std::map<std::size_t, std::vector<Within>> m_longer;
};

// NCCL's kernels get the library's own bookkeeping by value, counters among it; for replays it keeps another
// kind.
bool isOfNccl(const Node& kernel) {
    return kernel.name.starts_with("nccl");
}

class Finder {
public:
    Finder(const Evidence& evidence, const KeyWords& keys)
        : m_evidence(evidence)
        , m_keys(keys) { }

    // Eager runs of the graph's kernels; empty when there are none.
    std::vector<std::size_t> runsOf(const std::vector<const Node*>& kernels) const {
        return kernels.empty() ? std::vector<std::size_t>() : occurrences(m_evidence.launches, kernels);
    }

    std::vector<Frozen> find(
        const std::vector<const Node*>& kernels, const std::vector<std::size_t>& runs) const {
        std::map<std::tuple<std::string, Place>, Frozen> found; // kernels that repeat layer by layer: one row
        const std::size_t sequence = m_keys.sequence(kernels);
        for (std::size_t i = 0; i < kernels.size(); ++i) {
            const auto words = m_evidence.nodes.find(kernels[i]->nodeId);
            if (words == m_evidence.nodes.end() || isOfNccl(*kernels[i]))
                continue;
            for (const Looked& looked : believed(words->second, runs, i)) {
                if (m_keys.contains(sequence, i, looked.place, words->second.at(looked.place).value))
                    continue;
                Frozen& frozen = found[{kernels[i]->name, looked.place}];
                if (frozen.node == nullptr)
                    frozen = {kernels[i], 0, looked.place, *looked.series, runs.size()};
                ++frozen.nodes;
            }
        }
        std::vector<Frozen> result;
        for (auto& [key, frozen] : found)
            result.push_back(std::move(frozen));
        return result;
    }

private:
    struct Looked {
        Place place;
        std::optional<Series> series;
        bool hasTrend() const { return series && series->hasTrend; }
    };

    // Words of kernel number `kernel` that change as host values do. Libraries fill structures of some
    // hundred bytes in part and pass them whole; where most of what changes in one has no trend, the rest is
    // no better.
    std::vector<Looked> believed(
        const Words& words, const std::vector<std::size_t>& runs, std::size_t kernel) const {
        constexpr std::int64_t kLargeParameter = 64; // bytes
        std::vector<Looked> result;
        for (auto word = words.begin(); word != words.end();) {
            const std::int64_t parameter = word->first.first;
            std::vector<Looked> changing;
            std::int64_t size = 0;
            for (; word != words.end() && word->first.first == parameter; ++word) {
                size = std::max(size, word->first.second + word->second.bytes);
                if (auto looked = look(runs, kernel, word->first, word->second))
                    changing.push_back(std::move(*looked));
            }
            for (Looked& looked : changing) {
                if (looked.series && isAPlainNumber(looked, size))
                    looked.series->hasTrend = looked.series->isMonotone;
            }
            const auto good = std::count_if(
                changing.begin(), changing.end(), [](const Looked& looked) { return looked.hasTrend(); });
            if (size > kLargeParameter && 2 * good <= static_cast<std::ptrdiff_t>(changing.size()))
                continue;
            for (Looked& looked : changing) {
                if (looked.series)
                    result.push_back(std::move(looked));
            }
        }
        return result;
    }

    // A parameter of its own and no structure: nobody leaves such a one unset.
    static bool isAPlainNumber(const Looked& looked, std::int64_t parameterSize) {
        return looked.place.second == 0 && parameterSize >= 4 && looked.series->bytes == parameterSize;
    }

    // A word that changes in the eager runs, with its series if it changes as a host value does.
    std::optional<Looked> look(const std::vector<std::size_t>& runs, std::size_t kernel, const Place& place,
        const Word& frozen) const {
        std::vector<std::uint64_t> values;
        for (const std::size_t run : runs) {
            const auto set = m_evidence.sets.find(m_evidence.launches[run + kernel].scalarSet);
            if (set == m_evidence.sets.end())
                return std::nullopt;
            const auto word = set->second.find(place);
            if (word == set->second.end() || word->second.bytes != frozen.bytes)
                return std::nullopt; // a pointer in some run
            values.push_back(word->second.value);
        }
        if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end())
            return std::nullopt;
        return Looked{place, changingSeries(frozen, values)};
    }

    const Evidence& m_evidence;
    const KeyWords& m_keys;
};

struct Replays {
    std::int64_t count = 0;
    std::int64_t firstNs = 0;
    std::int64_t lastNs = 0;
};

Replays replaysOf(const ProcessData& process, const Exec& exec) {
    Replays replays;
    for (const std::int32_t index : exec.replays) {
        const Replay& replay = process.replays[static_cast<std::size_t>(index)];
        if (replay.result != 0)
            continue;
        replays.firstNs = replays.count == 0 ? replay.launchStartNs : replays.firstNs;
        replays.lastNs = replay.launchEndNs;
        ++replays.count;
    }
    return replays;
}

class Writer {
public:
    explicit Writer(Statement insert)
        : m_insert(std::move(insert)) { }

    Result<void> write(const ProcessData& process, const Exec& exec, const Graph& graph,
        const Replays& replays, const Frozen* frozen, NodePlaces& places) {
        const auto step = process.stepNumberAt(replays.firstNs);
        const std::string name = process.graphName(&graph, exec.execId);
        if (frozen == nullptr)
            return m_insert.runWith(process.processId, exec.execId, graph.graphId, name, nullptr, nullptr, 0,
                nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, 0, 0, 0, 0, replays.count,
                replays.firstNs, replays.lastNs, step, nullptr, "low", 0);
        GD_TRY_ASSIGN(const std::int64_t place, places.of(*frozen->node));
        const Series& series = frozen->series;
        const bool many = series.distinct >= 3;
        return m_insert.runWith(process.processId, exec.execId, graph.graphId, name, frozen->node->nodeId,
            frozen->node->name, frozen->nodes, frozen->place.first, frozen->place.second + series.offset,
            series.bytes, static_cast<std::int64_t>(series.frozenValue), series.frozenText, series.text,
            static_cast<std::int64_t>(frozen->eagerRuns), static_cast<std::int64_t>(series.distinct),
            series.hasTrend, series.isMonotone, replays.count, replays.firstNs, replays.lastNs, step,
            orNull(place),
            many && series.hasTrend ? "high"
                : many              ? "medium"
                                    : "low",
            1);
    }

private:
    Statement m_insert;
};

} // namespace

Result<void> buildFrozenScalar(FactContext& context) {
    GD_TRY_ASSIGN(auto insert,
        context.db.prepare(
            "INSERT INTO frozen_scalar VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
            "?, ?, ?, ?, ?, ?, ?, ?)"));
    Writer writer(std::move(insert));
    for (const ProcessData& process : context.raw.processes) {
        GD_TRY_ASSIGN(const Evidence evidence, readEvidence(context.db, process.processId));
        const KeyWords keys(evidence, process);
        const Finder finder(evidence, keys);
        NodePlaces places(context.stacks, process);
        for (const Exec& exec : process.execs) {
            const Graph* graph = process.templateOf(exec);
            const Replays replays = replaysOf(process, exec);
            // An executable that is updated gets its values anew: nothing is frozen for good.
            if (graph == nullptr || replays.count == 0 || evidence.updatedExecs.contains(exec.execId))
                continue;
            const std::vector<const Node*> kernels = kernelsOf(process, *graph);
            const std::vector<std::size_t> runs = finder.runsOf(kernels);
            if (runs.size() < 2) {
                GD_TRY(writer.write(process, exec, *graph, replays, nullptr, places));
                continue;
            }
            for (const Frozen& frozen : finder.find(kernels, runs))
                GD_TRY(writer.write(process, exec, *graph, replays, &frozen, places));
        }
    }
    return {};
}

} // namespace gd::facts
