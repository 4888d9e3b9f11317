// SPDX-License-Identifier: Apache-2.0
#include "faults/fault_injector.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace gdt::faults {
namespace {

TEST(FaultRegistry, IdsAreUniqueAndEachHasAHarmlessTwin) {
    std::set<std::string_view> ids;
    for (const FaultInfo& info : registry()) {
        EXPECT_TRUE(ids.insert(info.id).second) << info.id;
        EXPECT_EQ(info.args.back(), "harmless") << info.id << " needs a twin that must not be diagnosed";
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
    for (const char* text : {"", "no-such-fault", "item-in-capture:3", "item-in-capture@step",
             "item-in-capture@step=x", "item-in-capture@step=-1", "item-in-capture@color=2",
             "item-in-capture@harmless=1", "replay-jitter:fast", "graph-cache-overflow@layer=1",
             "item-in-capture@", "item-in-capture@param=1"}) {
        std::string problem;
        EXPECT_FALSE(parseFault(text, problem)) << text;
        EXPECT_FALSE(problem.empty()) << text;
        EXPECT_EQ(problem.find('\n'), std::string::npos) << text;
    }
}

std::string problemOf(const char* text, std::int64_t steps, std::int64_t layers, int ranks) {
    std::string problem;
    const auto spec = parseFault(text, problem);
    return spec ? FaultInjector({*spec}).problem({steps, layers, ranks, ranks, 64, true}) : problem;
}

TEST(FaultInjector, FaultThatCannotHappenIsRefused) {
    EXPECT_TRUE(problemOf("item-in-capture@step=9@layer=1", 10, 2, 1).empty());
    EXPECT_FALSE(problemOf("item-in-capture@step=10", 10, 2, 1).empty());
    EXPECT_FALSE(problemOf("item-in-capture@layer=2", 10, 2, 1).empty());
    EXPECT_FALSE(problemOf("item-in-capture@rank=1", 10, 2, 1).empty());
    EXPECT_FALSE(problemOf("tp-allreduce-unjoined", 10, 2, 1).empty());
    EXPECT_TRUE(problemOf("tp-allreduce-unjoined", 10, 2, 2).empty());
    std::string unused;
    const FaultInjector lengths({*parseFault("graph-cache-overflow", unused)});
    EXPECT_TRUE(lengths.problem({10, 2, 2, 1, 64, true, 2, 1, 1, 1, false}).empty());
    EXPECT_FALSE(lengths.problem({10, 2, 2, 1, 64, true, 2, 1, 1, 1, true}).empty())
        << "some lengths cannot be split";
    const FaultInjector injector({*parseFault("unjoined-fork", unused)});
    EXPECT_FALSE(injector.problem({10, 2, 1, 1, 64, false}).empty()) << "no graphs, nothing to break";
}

} // namespace
} // namespace gdt::faults
