// SPDX-License-Identifier: Apache-2.0
#include "faults/fault_injector.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <set>
#include <sstream>

namespace gdt::faults {
namespace {

TEST(FaultRegistry, IdsAreUniqueAndEachHasAHarmlessTwin) {
    std::set<std::string_view> ids;
    for (const FaultInfo& info : registry()) {
        EXPECT_TRUE(ids.insert(info.id).second) << info.id;
        EXPECT_EQ(info.takes.back(), "harmless") << info.id << " needs a twin that must not be diagnosed";
    }
    EXPECT_GE(ids.size(), 10U);
}

TEST(FaultRegistry, ListsAsJson) {
    const auto list = nlohmann::json::parse(listFaults(true));
    ASSERT_EQ(list.size(), registry().size());
    for (const auto& fault : list) {
        for (const char* field : {"id", "section", "title", "backends", "args", "rules"}) {
            EXPECT_TRUE(fault.contains(field)) << field;
        }
        // What is put on the command line beside --fault, word by word.
        const auto& args = fault["args"];
        EXPECT_EQ(args.size() % 2, 0U) << fault["id"];
        for (std::size_t i = 0; i < args.size(); i += 2) {
            EXPECT_EQ(args[i].get<std::string>().substr(0, 2), "--") << fault["id"];
        }
    }
}

TEST(FaultSpec, AllPartsAreRead) {
    std::string problem;
    const auto spec = parseFault("sync-in-graph-region:750@step=12@layer=1@rank=3@harmless", problem);
    ASSERT_TRUE(spec) << problem;
    EXPECT_EQ(spec->id, "sync-in-graph-region");
    EXPECT_EQ(spec->param, 750.0);
    EXPECT_EQ(spec->step, 12);
    EXPECT_EQ(spec->layer, 1);
    EXPECT_EQ(spec->rank, 3);
    EXPECT_TRUE(spec->harmless);
}

TEST(FaultSpec, WrongTextIsExplainedInOneSentence) {
    for (const char* text :
        {"", "no-such-fault", "item-in-capture:3", "item-in-capture@step", "item-in-capture@step=x",
            "item-in-capture@step=-1", "item-in-capture@color=2", "item-in-capture@harmless=1",
            "replay-jitter:fast", "graph-cache-overflow@layer=1", "item-in-capture@",
            "item-in-capture@param=1", "item-in-capture@step=3@step=4", "item-in-capture@layer=0@layer=0",
            "item-in-capture@rank=1@step=2@rank=1", "item-in-capture@harmless@harmless"}) {
        std::string problem;
        EXPECT_FALSE(parseFault(text, problem)) << text;
        EXPECT_FALSE(problem.empty()) << text;
        EXPECT_EQ(problem.find('\n'), std::string::npos) << text;
    }
}

// A number out of its range would make a fault that never ends, or one that is none.
TEST(FaultSpec, EveryParameterHasARangeAndIsHeldToIt) {
    for (const FaultInfo& fault : registry()) {
        const bool takesOne = std::find(fault.takes.begin(), fault.takes.end(), "param") != fault.takes.end();
        EXPECT_EQ(takesOne, !fault.param.meaning.empty()) << fault.id;
        if (!takesOne) {
            continue;
        }
        EXPECT_LT(fault.param.least, fault.param.most) << fault.id;
        const auto parsed = [&](double value, std::string& problem) {
            std::ostringstream text;
            text << fault.id << ':' << std::setprecision(17) << value;
            return parseFault(text.str(), problem).has_value();
        };
        std::string problem;
        EXPECT_TRUE(parsed(fault.param.least, problem)) << problem;
        EXPECT_TRUE(parsed(fault.param.most, problem)) << problem;
        EXPECT_EQ(parsed(fault.param.least + 0.5, problem), !fault.param.whole) << fault.id;
        for (const double wrong : {fault.param.most * 1.01 + 1, 1e9, 1e300,
                 std::nextafter(fault.param.least, -1.0), std::numeric_limits<double>::infinity()}) {
            problem.clear();
            EXPECT_FALSE(parsed(wrong, problem)) << fault.id << ':' << wrong;
            EXPECT_NE(problem.find(std::string(fault.param.meaning)), std::string::npos) << problem;
            EXPECT_NE(problem.find(" to "), std::string::npos) << problem;
        }
    }
}

std::string problemOf(const char* text, const RunShape& run) {
    std::string problem;
    const auto spec = parseFault(text, problem);
    return spec ? FaultInjector({*spec}).problem(run) : problem;
}

RunShape ordinaryRun() {
    RunShape run;
    run.steps = 10;
    run.layers = 2;
    run.seqLen = 64;
    return run;
}

TEST(FaultInjector, FaultThatCannotHappenIsRefused) {
    const RunShape one = ordinaryRun();
    RunShape two = one;
    two.ranks = two.replicas = 2;
    EXPECT_EQ(problemOf("item-in-capture@step=9@layer=1", one), "");
    EXPECT_NE(problemOf("item-in-capture@step=10", one), "");
    EXPECT_NE(problemOf("item-in-capture@layer=2", one), "");
    EXPECT_NE(problemOf("item-in-capture@rank=1", one), "");
    EXPECT_NE(problemOf("tp-allreduce-unjoined", one), "");
    EXPECT_EQ(problemOf("tp-allreduce-unjoined", two), "");
}

TEST(FaultInjector, FaultOfLengthsNeedsLengthsThatThereAre) {
    RunShape run = ordinaryRun();
    EXPECT_EQ(problemOf("graph-cache-overflow", run), "");
    EXPECT_EQ(problemOf("graph-cache-overflow:32", run), "");
    EXPECT_NE(problemOf("graph-cache-overflow:33", run), "") << "less than half of the sequence";
    EXPECT_NE(problemOf("graph-cache-overflow:16", run), "") << "they fit";
    run.splitsSequences = true;
    EXPECT_NE(problemOf("graph-cache-overflow", run), "") << "some lengths cannot be split";
    run = ordinaryRun();
    run.seqLen = 32;
    EXPECT_NE(problemOf("graph-cache-overflow", run), "");
    EXPECT_EQ(problemOf("graph-cache-overflow@harmless", run), "");
    run.blind = true;
    run.maxGraphs = 4096;
    EXPECT_EQ(problemOf("graph-cache-overflow:12", run), "") << "auto gives up after a few";
    run.tensor = 2;
    EXPECT_EQ(problemOf("tp-dynamic-shape:31", run), "");
    EXPECT_NE(problemOf("tp-dynamic-shape:32", run), "");
}

TEST(FaultInjector, FaultInAGraphNeedsThatGraph) {
    RunShape eager = ordinaryRun();
    eager.passGraphs = eager.optimizerGraph = false;
    RunShape passes = ordinaryRun();
    passes.optimizerGraph = false;
    RunShape optimizer = ordinaryRun();
    optimizer.passGraphs = false;
    RunShape full = ordinaryRun();
    full.oneGraph = true;
    RunShape brief = ordinaryRun();
    brief.steps = 3;
    for (const char* fault : {"unjoined-fork", "lr-frozen", "replay-before-zero-grad"}) {
        EXPECT_NE(problemOf(fault, eager), "") << fault;
        EXPECT_NE(problemOf(fault, brief), "") << "no step is captured: " << fault;
    }
    EXPECT_EQ(problemOf("slow-dataloader", eager), "");
    EXPECT_EQ(problemOf("unjoined-fork@step=2", brief), "");
    EXPECT_EQ(problemOf("unjoined-fork", passes), "");
    EXPECT_NE(problemOf("lr-frozen", passes), "");
    EXPECT_NE(problemOf("unjoined-fork", optimizer), "");
    EXPECT_EQ(problemOf("lr-frozen", optimizer), "");
    EXPECT_EQ(problemOf("lr-frozen", full), "");
    EXPECT_NE(problemOf("replay-before-zero-grad", full), "");
}

TEST(FaultInjector, FaultGivenTwiceForOnePlaceIsRefused) {
    std::string unused;
    const auto problem = [&](const char* a, const char* b) {
        return FaultInjector({*parseFault(a, unused), *parseFault(b, unused)}).problem(ordinaryRun());
    };
    EXPECT_NE(problem("unjoined-fork", "unjoined-fork"), "");
    EXPECT_NE(problem("unjoined-fork@layer=1", "unjoined-fork@layer=1@harmless"), "");
    EXPECT_EQ(problem("unjoined-fork@layer=0", "unjoined-fork@layer=1"), "");
    EXPECT_EQ(problem("unjoined-fork", "item-in-capture"), "");
}

} // namespace
} // namespace gdt::faults
