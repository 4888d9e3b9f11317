// SPDX-License-Identifier: Apache-2.0
// A recorded job of eight ranks: one trace, every rank in it, and for each of its communicators the bytes and
// operations that follow from the shapes of the model.
#include "tests/e2e/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

using namespace gd::test;

namespace {

constexpr std::int64_t kElement = 8; // fp64
constexpr std::int64_t kHidden = 32;
constexpr std::int64_t kSeqLen = 32;
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kMicroBatches = 3;
constexpr std::int64_t kLayers = 4;
constexpr std::int64_t kVocab = 8;
constexpr std::int64_t kTensor = 2, kContext = 2, kStages = 2;

// Ranks, message bytes and operations of one communicator in one step.
using Traffic = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

// Tensors of a layer that all tensor-parallel ranks hold: two gains and biases of norms, two biases.
constexpr std::int64_t kReplicated = 6 * kHidden;

std::int64_t parametersOf(bool firstStage) {
    const std::int64_t matrices = 12 * kHidden * kHidden / kTensor;
    const std::int64_t splitBiases = 7 * kHidden / kTensor;
    const std::int64_t table = kVocab * kHidden / kTensor;
    return kLayers / kStages * (matrices + splitBiases + kReplicated) + table
        + (firstStage ? 0 : 2 * kHidden);
}

std::vector<Traffic> expectedFor(int rank) {
    const bool firstStage = rank < kTensor * kContext;
    const std::int64_t rows = kSeqLen / kContext * kBatch;
    const std::int64_t shard = rows / kTensor * kHidden * kElement; // of the residual stream
    const std::int64_t layers = kLayers / kStages;
    const std::int64_t keyValues = rows * 2 * kHidden / kTensor * kElement;
    // Sequence parallel: two gathers and two scattered sums a layer and direction. The embedding scatters
    // once and gathers its gradient, the head gathers once and scatters its gradient; the loss needs the
    // maximum and two sums of each row.
    const std::int64_t tensorOps = kMicroBatches * (layers * 8 + 2 + (firstStage ? 0 : 2)) + 1;
    const std::int64_t tensorBytes
        = kMicroBatches * ((layers * 8 + 2) * shard + (firstStage ? 0 : 3 * rows * kElement))
        + (layers * kReplicated + (firstStage ? 0 : 2 * kHidden)) * kElement;
    // The ring: keys and values one hop forward and again backward, their gradients two hops; each a send and
    // a receive.
    const std::int64_t hops = (kContext - 1) + (kContext - 1) + kContext;
    std::vector<Traffic> traffic{
        {kTensor, tensorBytes, tensorOps},
        {kContext, kMicroBatches * layers * 2 * hops * keyValues, kMicroBatches * layers * 2 * hops},
        {kStages, kMicroBatches * 2 * shard, kMicroBatches * 2}, // between the stages
        {kContext, parametersOf(firstStage) * kElement, 1}, // sum of the gradients
        {kStages, kVocab * kHidden / kTensor * kElement, 1}, // tied embedding
        {kTensor * kStages, kElement, 1}, // norm of the gradients
        {kContext * kStages, kElement, 1}, // loss
    };
    std::sort(traffic.begin(), traffic.end());
    return traffic;
}

TEST(TrainerRanks, EveryCommunicatorCarriesWhatTheModelImplies) {
    Workshop shop;
    const auto text = [](std::int64_t value) { return std::to_string(value); };
    const ProgramEnd end = shop.run(recordTrainer({"-o", shop.file("x.gdt"), "--no-report"},
        {"--quiet", "--dtype", "fp64", "--steps", "12", "--tp", text(kTensor), "--cp", text(kContext), "--pp",
            text(kStages), "--sequence-parallel", "--layers", text(kLayers), "--hidden", text(kHidden),
            "--seq-len", text(kSeqLen), "--micro-batch-size", text(kBatch), "--micro-batches",
            text(kMicroBatches), "--vocab", text(kVocab)}));
    ASSERT_EQ(end.status, 0) << end.err;
    const auto report = reportOf(shop, shop.file("x.gdt"));
    EXPECT_EQ(report["processes"].size(), 8U);
    EXPECT_TRUE(report["findings"].empty()) << report["findings"];
    for (const std::int64_t step : {1, 10}) { // eager, and replayed
        const ProgramEnd query = shop.run(graphdoctor({"query", shop.file("x.gdt"),
            "SELECT p.rank AS rank, s.nranks AS nranks, s.graph_bytes AS replayed, s.graph_ops AS graph_ops, "
            "s.eager_bytes AS eager, s.eager_ops AS eager_ops "
            "FROM nccl_step AS s JOIN process AS p USING (process_id) WHERE s.step = "
                + text(step),
            "--format", "json"}));
        ASSERT_EQ(query.status, 0) << query.err;
        std::map<int, std::vector<Traffic>> seen;
        for (const auto& row : nlohmann::json::parse(query.out)) {
            const char* bytes = step == 1 ? "eager" : "replayed";
            const char* ops = step == 1 ? "eager_ops" : "graph_ops";
            EXPECT_EQ(row[step == 1 ? "replayed" : "eager"], 0);
            seen[row["rank"]].emplace_back(row["nranks"], row[bytes], row[ops]);
        }
        ASSERT_EQ(seen.size(), 8U);
        for (auto& [rank, traffic] : seen) {
            std::sort(traffic.begin(), traffic.end());
            EXPECT_EQ(traffic, expectedFor(rank)) << "rank " << rank << ", step " << step;
        }
    }
}

// Marks of the graph manager, without the part that names the graph: the collector needs no other channel.
std::vector<std::string> transitionsIn(const Workshop& shop, const std::string& trace) {
    const ProgramEnd query = shop.run(graphdoctor({"query", shop.file(trace),
        "SELECT DISTINCT substr(text, instr(text, ': ') + 2) AS change FROM ("
        "SELECT s.text AS text FROM nvtx_range AS r JOIN string AS s ON s.string_id = r.name_id "
        "WHERE r.kind = 'mark' AND s.text LIKE 'graph %') ORDER BY change",
        "--format", "json"}));
    EXPECT_EQ(query.status, 0) << query.err;
    std::vector<std::string> changes;
    for (const auto& row : nlohmann::json::parse(query.out)) {
        changes.push_back(row["change"]);
    }
    return changes;
}

bool holds(const std::vector<std::string>& changes, const std::string& wanted) {
    return std::any_of(changes.begin(), changes.end(),
        [&](const std::string& change) { return change.rfind(wanted, 0) == 0; });
}

TEST(RecordedJob, HoldsEveryChangeOfAGraphWithItsReason) {
    const Workshop shop;
    const std::vector<std::string> small{"--hidden", "16", "--heads", "2", "--seq-len", "16",
        "--micro-batch-size", "1", "--corpus-tokens", "8192", "--layers", "1", "--quiet"};
    const auto record = [&](const std::string& trace, std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), small.begin(), small.end());
        const ProgramEnd end = shop.run(recordTrainer({"-o", trace}, arguments));
        EXPECT_EQ(end.status, 0) << end.err;
        return transitionsIn(shop, trace);
    };
    const auto evicting = record("lru.gdt",
        {"--steps", "8", "--graph-key", "microbatch", "--micro-batches", "3", "--graph-policy", "lru",
            "--max-graphs", "4"});
    for (const char* change : {"cold -> warming", "warming -> capturing", "capturing -> instantiating",
             "instantiating -> ready, ", "ready -> evicted (graph cache is full)", "evicted -> capturing"}) {
        EXPECT_TRUE(holds(evicting, change)) << change;
    }
    const auto failing = record("pool.gdt", {"--steps", "1100", "--graph-cache-size", "0"});
    for (const char* change : {"capturing -> failed (the graph pool is exhausted: it needs ",
             "failed -> eager-fallback (the graph pool", "eager-fallback -> capturing",
             "failed -> disabled (the graph pool"}) {
        EXPECT_TRUE(holds(failing, change)) << change;
    }
}

TEST(RecordedJob, SaysThatModelledCommunicationIsModelled) {
    const Workshop shop;
    const ProgramEnd end = shop.run(recordTrainer({"-o", "x.gdt"},
        {"--hidden", "16", "--heads", "2", "--seq-len", "16", "--corpus-tokens", "8192", "--steps", "6",
            "--comm", "model", "--tp", "2", "--pp", "2", "--as-rank", "3", "--ranks-per-node", "2"}));
    ASSERT_EQ(end.status, 0) << end.err;
    EXPECT_NE(end.out.find("MODELLED: this process does the work of rank 3 of 4 alone"), std::string::npos)
        << end.out;
    EXPECT_NE(end.out.find("MODELLED step     6/6"), std::string::npos) << end.out;
    const ProgramEnd query = shop.run(graphdoctor({"query", shop.file("x.gdt"),
        "SELECT DISTINCT text FROM string WHERE text LIKE 'MODELLED%' ORDER BY text", "--format", "json"}));
    ASSERT_EQ(query.status, 0) << query.err;
    std::vector<std::string> texts;
    for (const auto& row : nlohmann::json::parse(query.out)) {
        texts.push_back(row["text"]);
    }
    for (const char* wanted : {"MODELLED AllReduce", "MODELLED Recv", "MODELLED Send",
             "MODELLED pipeline: 2 ranks on several nodes", "MODELLED tensor: 2 ranks within a node"}) {
        EXPECT_TRUE(holds(texts, wanted)) << wanted;
    }
}

} // namespace
