// SPDX-License-Identifier: Apache-2.0
// Every fault of the trainer that has a rule, at several places: its rule comes first and names the line that
// the trainer itself names; made harmless, nothing fires. The default run takes one place a fault,
// GD_FAULT_TABLE_FULL all.
#include "tests/e2e/fault_line.h"
#include "tests/e2e/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

using namespace gd::test;

namespace {

struct Fault {
    std::string id;
    std::string rule;
    std::vector<std::string> places; // appended to the id
    std::vector<std::string> options; // of the trainer
    bool hasLine = true; // the trainer prints its place
    bool marks = false; // its rule rests on what the trainer says of itself
};

const std::vector<std::string> kAnywhere = {"@step=4", "@step=6", "@rank=1"};
const std::vector<std::string> kWithLayer = {"@step=4", "@layer=1", "@rank=1"};

std::vector<Fault> faults() {
    return {
        {"item-in-capture", "GD101", kWithLayer, {}},
        {"no-warmup-optimizer", "GD109", {"", "@rank=0", "@rank=1"}, {}},
        {"sync-in-graph-region", "GD302", kWithLayer, {}},
        {"record-stream", "GD202", kWithLayer, {}},
        {"activation-realloc", "GD402", kWithLayer, {}},
        {"graph-cache-overflow", "GD306", {"", ":22", ":24"}, {}, false},
        {"tp-allreduce-unjoined", "GD114", {"", "@step=4", "@step=6"}, {"--dp", "2"}},
        {"replay-jitter", "GD303", kAnywhere, {}, false},
        {"unjoined-fork", "GD104", kWithLayer, {}},
        {"abandoned-capture", "GD108", kWithLayer, {}},
        {"pp-event-outside-capture", "GD105", kWithLayer, {}},
        {"no-fallback", "GD101", kWithLayer, {}},
        {"no-warmup-buffers", "GD109", kWithLayer, {}},
        {"nonflash-attention", "GD109", {"@step=4", "@layer=1"}, {}, false},
        {"zero3-offload", "GD109", kWithLayer, {}},
        {"h2d-pending", "GD103", kWithLayer, {}},
        {"capture-default-stream", "GD103", kWithLayer, {}},
        {"capture-on-all-ranks", "GD108", {"@step=4", "@rank=1"}, {}},
        {"lr-frozen", "GD201", {"", "@step=5", "@rank=1"}, {}},
        {"host-beta-step", "GD201", {"", "@step=5", "@rank=1"}, {}},
        {"clip-frozen", "GD201", {"", "@step=5", "@rank=1"}, {}, false},
        {"eps-by-phase", "GD201", kWithLayer, {}, false},
        {"dropout-frozen", "GD201", {"@step=4", "@layer=1"}, {"--dropout", "0.1"}, false},
        {"fp8-scale-host", "GD213", {"", "@layer=1"}, {"--dtype", "fp8"}},
        {"recompute-free", "GD202", kWithLayer, {}},
        {"graph-leak", "GD401", {"", "@layer=1", "@step=6"}, {}, false},
        {"slow-dataloader", "GD310", {":2", ":2@step=3"}, {}, false},
        {"pp-single-microbatch-capture", "GD302", {"", "@rank=1"},
            {"--pp", "2", "--host-op-overhead-us", "100"}},
        {"rank-divergent-capture", "GD502", {"", "@rank=0@step=5", "@step=6"}, {"--dp", "2"}, false},
        {"tp-allreduce-stripped", "GD501", {""}, {"--tp", "2"}, false},
        {"gc-destroy-in-capture", "GD111", kWithLayer, {}},
        {"capture-order", "GD205", {"", "@step=8"},
            {"--graph-scope", "microbatch", "--graph-key", "microbatch"}, false},
        {"attention-dynamic-dispatch", "GD708", {"@step=4", "@layer=1"}, {}, false},
        {"ring-parity-missing", "GD217", {""}, {"--cp", "2"}, false},
        {"ring-whole-dynamic", "GD511", {"", "@step=1"}, {"--cp", "4"}, false},
        {"pp-unfused-p2p", "GD513", {""}, {"--pp", "2"}, false},
        {"ring-send-recv-order", "GD513", {""}, {"--cp", "2"}, false},
        {"replay-before-zero-grad", "GD705", {"", "@step=9"}, {}},
        {"shared-graph-exec", "GD710", {""}, {"--pp", "2", "--graph-scope", "microbatch"}, false},
        {"host-control-flow", "GD206", {"", "@step=4"}, {}, false},
        {"tp-dynamic-shape", "GD508", {"", "@step=6"}, {"--tp", "2"}, false},
        {"nccl-abort", "GD509", {"", "@step=8"}, {"--dp", "2"}},
        {"dp-cross-node", "GD514", {"", ":0.0025"}, {"--dp", "2", "--comm", "model"}, false},
        {"env-mismatch", "GD602", {"", ":9.1", ":12.9"}, {}, false, true},
        {"pool-too-small", "GD406", {"", ":20"}, {}, false, true},
        {"pool-rank0-only", "GD408", {""}, {"--dp", "2"}, false},
    };
}

struct Case {
    Fault fault;
    std::string place;
};

// What a failing test prints.
void PrintTo(const Case& one, std::ostream* out) {
    *out << one.fault.id << one.place;
}

std::vector<Case> cases() {
    std::vector<Case> out;
    for (const Fault& fault : faults()) {
        const std::size_t count = GD_FAULT_TABLE_FULL ? fault.places.size() : 1;
        for (std::size_t i = 0; i < count; ++i)
            out.push_back({fault, fault.places[i]});
    }
    return out;
}

std::string caseName(const testing::TestParamInfo<Case>& info) {
    std::string name = info.param.fault.id + info.param.place;
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    return name;
}

class FaultTable : public testing::TestWithParam<Case> {
protected:
    ProgramEnd record(const std::string& suffix) {
        const Fault& fault = GetParam().fault;
        std::vector<std::string> arguments
            = {"--steps", "60", "--fault", fault.id + GetParam().place + suffix};
        if (!fault.marks)
            arguments.emplace_back("--no-marks");
        arguments.insert(arguments.end(), fault.options.begin(), fault.options.end());
        if (fault.options.empty() && GetParam().place.find("@rank=1") != std::string::npos)
            arguments.insert(arguments.end(), {"--dp", "2"});
        return shop.run(recordTrainer({"-o", shop.file("x.gdt"), "--force", "--no-report"}, arguments));
    }
    Workshop shop;
};

TEST(FaultList, EveryFaultWithARuleIsInTheTable) {
    const Workshop shop;
    const ProgramEnd end
        = shop.run(recordTrainer({"-o", shop.file("x.gdt"), "--no-report"}, {"--list-faults", "--json"}));
    ASSERT_EQ(end.status, 0) << end.err;
    using Listed = std::pair<std::string, std::vector<std::string>>; // rule, options
    std::map<std::string, Listed> listed;
    for (const auto& fault : nlohmann::json::parse(end.out)) {
        if (!fault["rules"].empty())
            listed[fault["id"]] = {fault["rules"][0], fault["args"]};
    }
    std::map<std::string, Listed> tested;
    for (const Fault& fault : faults())
        tested[fault.id] = {fault.rule, fault.options};
    EXPECT_EQ(tested, listed);
}

// It has no rule of its own, but a set-up of its own that others could mistake.
TEST(FaultList, TheRingThatDoesNotTurnIsSilent) {
    const Workshop shop;
    const ProgramEnd end = shop.run(recordTrainer({"-o", shop.file("x.gdt"), "--no-report"},
        {"--steps", "60", "--no-marks", "--cp", "4", "--fault", "ring-whole-dynamic@harmless"}));
    ASSERT_EQ(end.status, 0) << end.err;
    for (const auto& finding : reportOf(shop, shop.file("x.gdt"))["findings"])
        EXPECT_EQ(finding["severity"], "info") << finding["rule"] << finding["message"];
}

TEST_P(FaultTable, ItsRuleComesFirstWithItsLine) {
    const Fault& fault = GetParam().fault;
    // Idle times count above what the machine's own wake-ups vary by, which is much for some seconds now and
    // then.
    const int attempts = fault.rule == "GD302" ? 5 : 1;
    ProgramEnd end;
    auto report = nlohmann::json::object();
    for (int attempt = 0; attempt < attempts; ++attempt) {
        end = record("");
        ASSERT_LT(end.status, 2) << end.err; // a fault may break the training, never the recording
        report = reportOf(shop, shop.file("x.gdt"));
        if (!report["findings"].empty() && report["findings"][0]["rule"] == fault.rule)
            break;
    }
    ASSERT_FALSE(report["findings"].empty()) << end.err;
    const auto& first = report["findings"][0];
    EXPECT_EQ(first["rule"], fault.rule) << first["message"];
    if (!fault.hasLine)
        return;
    const auto places = printedFaultLines(shop, end.err);
    ASSERT_FALSE(places.empty()) << end.err;
    ASSERT_FALSE(first["locations"].empty()) << first["locations_reason"];
    const auto& location = first["locations"][0];
    const bool same = std::any_of(places.begin(), places.end(), [&](const SourceLine& place) {
        return location["file"] == place.file && location["line"] == place.line;
    });
    EXPECT_TRUE(same) << location << " is not " << places[0].file << ":" << places[0].line;
}

TEST_P(FaultTable, MadeHarmlessItIsSilent) {
    const ProgramEnd end = record("@harmless");
    ASSERT_EQ(end.status, 0) << end.err;
    const auto report = reportOf(shop, shop.file("x.gdt"));
    for (const auto& finding : report["findings"])
        EXPECT_EQ(finding["severity"], "info") << finding["rule"] << finding["message"];
}

INSTANTIATE_TEST_SUITE_P(All, FaultTable, testing::ValuesIn(cases()), caseName);

} // namespace
