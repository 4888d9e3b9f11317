// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/cupti/graph_trace_policy_support.h"

#include <map>
#include <random>

namespace gd::cupti {

TEST(GraphTracePolicy, LevelsIncludeWhatTheyPromise) {
    EXPECT_EQ(at(RecordingLevel::Off).wanted(), kNothing);
    EXPECT_EQ(at(RecordingLevel::History).wanted(), kNothing);
    EXPECT_EQ(at(RecordingLevel::Light).wanted(), kGraphs);
    EXPECT_EQ(at(RecordingLevel::Standard).wanted(), kAll);
    EXPECT_EQ(at(RecordingLevel::Full).wanted(), kKernels);
}

TEST(GraphTracePolicy, IsOnAroundEveryInstantiateWhateverTheLevel) {
    for (const auto level : {RecordingLevel::Off, RecordingLevel::History, RecordingLevel::Light,
             RecordingLevel::Standard, RecordingLevel::Full}) {
        GraphTracePolicy policy = at(level);
        policy.instantiateBegan();
        policy.instantiateBegan(); // a second thread
        EXPECT_TRUE(policy.wanted().graphTrace);
        policy.instantiateEnded();
        EXPECT_TRUE(policy.wanted().graphTrace);
        policy.instantiateEnded();
        EXPECT_EQ(policy.wanted(), at(level).wanted());
    }
}

TEST(GraphTracePolicy, StaysOffWhileAnExecutableLivesThatCouldCrash) {
    GraphTracePolicy policy = at(RecordingLevel::Light);
    EXPECT_FALSE(make(policy, {true, false}));
    EXPECT_FALSE(policy.wanted().graphTrace);
    EXPECT_FALSE(make(policy)) << "made while graph tracing had to stay off";
    policy.instantiateBegan();
    EXPECT_FALSE(policy.wanted().graphTrace) << "another thread could launch executable 1 now";
    policy.instantiateEnded();
    policy.execDestroyed(false, false);
    EXPECT_FALSE(policy.wanted().graphTrace);
    policy.execDestroyed(false, false);
    EXPECT_TRUE(policy.wanted().graphTrace);
    EXPECT_TRUE(make(policy));
}

TEST(GraphTracePolicy, AnExecutableNobodyAnnouncedBlocksForEver) {
    GraphTracePolicy policy = at(RecordingLevel::Light);
    policy.unknownExecLaunched();
    EXPECT_FALSE(policy.wanted().graphTrace);
    EXPECT_FALSE(make(policy));
    policy.execDestroyed(false, false);
    EXPECT_FALSE(policy.wanted().graphTrace);
}

TEST(GraphTracePolicy, CreatedOutsideAnInstantiateIsNotTraceable) {
    GraphTracePolicy policy = at(RecordingLevel::Light);
    EXPECT_FALSE(policy.execCreated({}, 0));
    EXPECT_TRUE(policy.blocked());
}

// A launch some replays after such a switch ended, in four of 541 runs, in SIGSEGV.
TEST(GraphTracePolicy, StandardSwitchesNothingByItself) {
    GraphTracePolicy policy = at(RecordingLevel::Standard);
    policy.applied();
    for (int i = 0; i < 100; ++i) {
        ASSERT_TRUE(make(policy));
        policy.replayBegins();
        policy.launched(i);
        policy.tick(i);
        policy.applied();
        EXPECT_EQ(policy.wanted(), kAll);
        EXPECT_FALSE(policy.waits());
    }
}

TEST(GraphTracePolicy, WhatComesOnWaitsForReplaysUnderWayAndForTheRecordsOfWhatWentOff) {
    GraphTracePolicy policy = at(RecordingLevel::Full);
    policy.applied();
    policy.replayBegins();
    policy.setLevel(RecordingLevel::Standard, 0);
    policy.applied();
    for (unsigned i = 0; i < GraphTracePolicy::kQuietReplays; ++i) {
        EXPECT_EQ(policy.wanted(), kSync);
        policy.launched(0);
        policy.applied();
    }
    EXPECT_EQ(policy.phase(), Phase::Steady);
    EXPECT_EQ(policy.wanted(), kSync);
    EXPECT_TRUE(policy.needsIdle());
    policy.launched(0);
    policy.tick(2 * GraphTracePolicy::kMaxPhaseNs);
    EXPECT_EQ(policy.wanted(), kSync) << "time alone is no reason";
    policy.idleSeen();
    EXPECT_EQ(policy.wanted(), kSync) << "its records are complete and not delivered";
    EXPECT_TRUE(policy.wantsFlush());
    EXPECT_FALSE(policy.needsIdle());
    policy.replayBegins();
    policy.flushed();
    policy.applied();
    EXPECT_EQ(policy.wanted(), kSync);
    EXPECT_FALSE(policy.wantsFlush());
    EXPECT_TRUE(policy.needsIdle()) << "replays may have begun during the delivery";
    policy.idleSeen();
    EXPECT_EQ(policy.wanted(), kAll);
    policy.applied();
    policy.replayBegins();
    EXPECT_EQ(policy.wanted(), kAll) << "what is on stays on";
    EXPECT_FALSE(policy.waits());
}

// Kernel activity that goes off while GRAPH_TRACE stays on ended in SIGSEGV, too.
TEST(GraphTracePolicy, ALevelIsLeftOnlyWhenNoReplayIsUnderWay) {
    for (const auto& [from, whole] :
        {std::pair{RecordingLevel::Standard, kAll}, {RecordingLevel::Light, kGraphs}}) {
        GraphTracePolicy policy = at(from);
        policy.applied();
        policy.replayBegins();
        policy.setLevel(RecordingLevel::Off, 10);
        EXPECT_EQ(policy.wanted().graphTrace, whole.graphTrace);
        EXPECT_EQ(policy.wanted().kernels, whole.kernels);
        EXPECT_TRUE(policy.needsIdle());
        policy.idleSeen();
        EXPECT_EQ(policy.wanted(), kNothing);
    }
}

TEST(GraphTracePolicy, AnExecutableThatCouldCrashEndsGraphTracingAtOnce) {
    GraphTracePolicy policy = at(RecordingLevel::Light);
    policy.applied();
    policy.replayBegins();
    policy.unknownExecLaunched();
    EXPECT_FALSE(policy.wanted().graphTrace);
    GraphTracePolicy other = at(RecordingLevel::Standard);
    other.applied();
    other.replayBegins();
    other.letGo();
    EXPECT_EQ(other.wanted(), kNothing);
}

TEST(GraphTracePolicy, ADeliveryBeforeTheLastReplaysEndedDoesNotCount) {
    GraphTracePolicy policy = at(RecordingLevel::Full);
    policy.applied();
    policy.replayBegins();
    policy.setLevel(RecordingLevel::Light, 10);
    policy.applied();
    EXPECT_EQ(policy.wanted(), kNothing) << "kernel activity alone goes off at once";
    for (unsigned i = 0; i < GraphTracePolicy::kQuietReplays; ++i) {
        policy.launched(11);
    }
    EXPECT_TRUE(policy.needsIdle());
    EXPECT_FALSE(policy.wantsFlush()) << "the records of replays under way are not complete";
    policy.idleSeen();
    EXPECT_TRUE(policy.wantsFlush());
}

TEST(GraphTracePolicy, AnyLevelIsReachedOnlyWhenNoReplayIsUnderWay) {
    for (const auto level : {RecordingLevel::Light, RecordingLevel::Standard, RecordingLevel::Full}) {
        GraphTracePolicy policy = at(RecordingLevel::Off);
        policy.applied();
        policy.replayBegins();
        policy.setLevel(level, 10);
        EXPECT_FALSE(policy.wanted().graphTrace);
        EXPECT_FALSE(policy.wanted().kernels);
        EXPECT_TRUE(policy.needsIdle());
        policy.applied();
        policy.idleSeen();
        EXPECT_EQ(policy.wanted(), at(level).wanted());
    }
}

TEST(GraphTracePolicy, TheBracketOfAnInstantiateSwitchesNothingForLater) {
    GraphTracePolicy policy = at(RecordingLevel::Off);
    policy.applied();
    policy.replayBegins();
    policy.setLevel(RecordingLevel::Light, 10);
    policy.applied();
    policy.instantiateBegan();
    EXPECT_TRUE(policy.wanted().graphTrace);
    policy.applied();
    EXPECT_TRUE(policy.execCreated({}, 10));
    policy.instantiateEnded();
    EXPECT_FALSE(policy.wanted().graphTrace);
    EXPECT_TRUE(policy.needsIdle());
}

TEST(GraphTracePolicy, AnExecutableThatPinsWaitsForSuchAMomentToo) {
    GraphTracePolicy policy = at(RecordingLevel::Off);
    policy.applied();
    policy.replayBegins();
    policy.setLevel(RecordingLevel::Light, 10);
    policy.applied();
    EXPECT_TRUE(make(policy, {false, true}));
    policy.applied();
    EXPECT_TRUE(policy.isPinned());
    EXPECT_FALSE(policy.wanted().graphTrace);
    policy.idleSeen();
    EXPECT_TRUE(policy.wanted().graphTrace);
}

// Switching one of the two while the other is on ended in SIGSEGV at the next launch.
TEST(GraphTracePolicy, BetweenLevelsWithGraphsAndWithKernelsIsQuiet) {
    constexpr RecordingLevel kPairs[][2] = {{RecordingLevel::Standard, RecordingLevel::Light},
        {RecordingLevel::Light, RecordingLevel::Standard}, {RecordingLevel::Full, RecordingLevel::Light},
        {RecordingLevel::Full, RecordingLevel::Standard}};
    for (const auto& pair : kPairs) {
        GraphTracePolicy policy = at(pair[0]);
        policy.setLevel(pair[1], 10);
        EXPECT_FALSE(policy.wanted().graphTrace);
        EXPECT_FALSE(policy.wanted().kernels);
        for (unsigned i = 0; i < GraphTracePolicy::kQuietReplays; ++i) {
            policy.launched(11);
        }
        EXPECT_EQ(policy.wanted(), at(pair[1]).wanted());
    }
}

TEST(GraphTracePolicy, OffIsReachedAndLeftAtOnce) {
    GraphTracePolicy policy = at(RecordingLevel::Standard);
    policy.setLevel(RecordingLevel::Off, 10);
    EXPECT_EQ(policy.wanted(), kNothing);
    policy.setLevel(RecordingLevel::Light, 20);
    EXPECT_EQ(policy.wanted(), kGraphs);
}

TEST(GraphTracePolicy, FullEndsWhenNodeRecordsAreUsedUpAndDoesNotGoOverToGraphs) {
    GraphTracePolicy policy = at(RecordingLevel::Full);
    policy.applied();
    policy.replayBegins();
    policy.nodeRecordsUsedUp();
    EXPECT_EQ(policy.wanted(), kSync);
    policy.applied();
    policy.idleSeen();
    policy.tick(GraphTracePolicy::kMaxPhaseNs);
    EXPECT_EQ(policy.wanted(), kSync);
    EXPECT_TRUE(make(policy));
    EXPECT_FALSE(policy.waits());
}

TEST(GraphTracePolicy, NothingIsSwitchedWhileAnExecutableLivesThatPins) {
    GraphTracePolicy policy = at(RecordingLevel::Standard);
    ASSERT_TRUE(make(policy));
    ASSERT_TRUE(make(policy, {false, true}));
    EXPECT_EQ(policy.wanted(), kAll);
    for (const auto level : {RecordingLevel::Off, RecordingLevel::Light, RecordingLevel::Full,
             RecordingLevel::History, RecordingLevel::Standard}) {
        policy.setLevel(level, 10);
        EXPECT_EQ(policy.wanted(), kAll);
        EXPECT_TRUE(make(policy)) << "made with it on";
        policy.execDestroyed(true, false);
    }
    policy.setLevel(RecordingLevel::Light, 20);
    policy.execDestroyed(true, true);
    policy.tick(100);
    policy.tick(100 + GraphTracePolicy::kPinnedOnNs);
    EXPECT_EQ(policy.wanted(), kAll) << "a replay may still run";
    policy.tick(101 + GraphTracePolicy::kPinnedOnNs);
    EXPECT_EQ(policy.wanted(), kNothing) << "quiet first";
    policy.tick(200 + GraphTracePolicy::kPinnedOnNs + GraphTracePolicy::kMaxPhaseNs);
    EXPECT_EQ(policy.wanted(), kGraphs);
}

// Recording windows: the job starts outside, and the replays inside must have device times.
TEST(GraphTracePolicy, WithAPinGraphTracingIsThereWhenAWindowOpens) {
    GraphTracePolicy policy = at(RecordingLevel::History);
    ASSERT_TRUE(make(policy, {false, true}));
    EXPECT_EQ(policy.wanted(), kGraphs);
    policy.setLevel(RecordingLevel::Standard, 10);
    EXPECT_EQ(policy.wanted(), kGraphs);
}

TEST(GraphTracePolicy, LettingGoSwitchesEverythingOffAndGraphsForGood) {
    GraphTracePolicy policy = at(RecordingLevel::Standard);
    ASSERT_TRUE(make(policy, {false, true}));
    policy.letGo();
    EXPECT_EQ(policy.wanted(), kNothing);
    policy.setLevel(RecordingLevel::Standard, 10);
    EXPECT_EQ(policy.wanted(), kKernels);
    EXPECT_FALSE(make(policy, {false, true}));
    EXPECT_EQ(policy.wanted(), kKernels);
}

TEST(GraphTracePolicy, FullStaysNodeByNodeWithAPin) {
    GraphTracePolicy policy = at(RecordingLevel::Full);
    ASSERT_TRUE(make(policy, {false, true}));
    EXPECT_EQ(policy.wanted(), kKernels);
    policy.instantiateBegan();
    EXPECT_EQ(policy.wanted(), kKernels);
    EXPECT_FALSE(policy.execCreated({}, 0));
    policy.instantiateEnded();
    policy.nodeRecordsUsedUp();
    EXPECT_EQ(policy.wanted(), kSync);
}

// Whatever happens in whatever order: graph tracing is never on while an executable is alive that could
// crash, and an executable called traceable was made with it on.
TEST(GraphTracePolicy, NeverOnWithAnExecutableThatCouldCrash) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        GraphTracePolicy policy;
        if (random() % 3 == 0) {
            policy.startsNodeByNode();
        }
        policy.setLevel(static_cast<RecordingLevel>(random() % 5), 0);
        std::map<std::uint64_t, bool> alive; // exec -> traceable
        std::map<std::uint64_t, bool> host; // exec -> holds host nodes
        Wanted before;
        bool pinned = false;
        bool underWay = false;
        std::int64_t nowNs = 0;
        for (int i = 0; i < 300; ++i) {
            nowNs += random() % 1'000'000'000;
            const std::uint64_t exec = 1 + random() % 12;
            bool idle = false;
            switch (random() % 8) {
            case 7: { // other threads' calls fall into an instantiate
                policy.instantiateBegan();
                bool off = !policy.wanted().graphTrace;
                if (random() % 2 == 0) {
                    policy.setLevel(static_cast<RecordingLevel>(random() % 5), nowNs);
                } else {
                    policy.instantiateBegan();
                    const bool other = policy.execCreated({random() % 2 == 0, false}, nowNs);
                    policy.instantiateEnded();
                    off |= !policy.wanted().graphTrace;
                    policy.execDestroyed(other, false);
                }
                off |= !policy.wanted().graphTrace;
                const bool traceable = policy.execCreated({}, nowNs);
                EXPECT_FALSE(traceable && off);
                policy.instantiateEnded();
                policy.execDestroyed(traceable, false);
                break;
            }
            case 0:
                if (!alive.contains(exec)) {
                    policy.instantiateBegan();
                    const bool on = policy.wanted().graphTrace;
                    host[exec] = random() % 6 == 0;
                    const bool traceable = policy.execCreated({random() % 8 == 0, host[exec]}, nowNs);
                    EXPECT_TRUE(!traceable || on);
                    alive[exec] = traceable;
                    policy.instantiateEnded();
                }
                break;
            case 1:
                if (const auto it = alive.find(exec); it != alive.end()) {
                    policy.execDestroyed(it->second, host[exec]);
                    host.erase(exec);
                    alive.erase(it);
                }
                break;
            case 2:
                policy.setLevel(static_cast<RecordingLevel>(random() % 5), nowNs);
                break;
            case 3:
                policy.tick(nowNs);
                break;
            case 4:
                policy.idleSeen();
                policy.applied();
                if (policy.wantsFlush()) {
                    policy.flushed();
                    policy.applied();
                    policy.idleSeen();
                }
                EXPECT_FALSE(policy.waits());
                underWay = false;
                idle = true;
                break;
            default:
                if (alive.contains(exec)) {
                    policy.replayBegins();
                    underWay = true;
                    policy.launched(nowNs);
                }
            }
            bool dangerous = false;
            for (const auto& [id, traceable] : alive) {
                dangerous |= !traceable;
            }
            ASSERT_TRUE(!policy.wanted().graphTrace || !dangerous);
            bool hostAlive = false;
            for (const auto& [id, holds] : host) {
                hostAlive |= holds;
            }
            ASSERT_TRUE(!underWay || !policy.wanted().graphTrace || before.graphTrace);
            ASSERT_TRUE(!underWay || policy.wanted().graphTrace || !before.graphTrace || dangerous);
            ASSERT_TRUE(!underWay || !policy.wanted().kernels || before.kernels);
            policy.applied();
            if (hostAlive && pinned
                && !idle) { // no switch but off for an executable that crashes for certain
                ASSERT_EQ(policy.wanted().kernels, before.kernels);
                ASSERT_TRUE(!policy.wanted().graphTrace || before.graphTrace);
            }
            pinned = hostAlive;
            before = policy.wanted();
        }
    }
}

TEST(GraphTracePolicy, AnExecutableThatPinsWhileTheOverheadIsMeasuredFindsTheRunsLevel) {
    GraphTracePolicy policy;
    policy.setLevel(raw::RecordingLevel::Standard, 0);
    policy.setLevel(raw::RecordingLevel::History, 1, raw::RecordingLevel::Standard);
    EXPECT_EQ(policy.wanted(), GraphTracePolicy::Wanted{});
    policy.instantiateBegan();
    EXPECT_TRUE(policy.execCreated({false, true}, 2));
    policy.instantiateEnded();
    policy.setLevel(raw::RecordingLevel::Standard, 3);
    EXPECT_TRUE(policy.isPinned());
    EXPECT_TRUE(policy.wanted().kernels) << "what is not on now stays off as long as it lives";
    EXPECT_TRUE(policy.wanted().sync);
    EXPECT_TRUE(policy.wanted().graphTrace);
}

} // namespace gd::cupti
