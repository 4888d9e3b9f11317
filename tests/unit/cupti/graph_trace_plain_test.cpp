// SPDX-License-Identifier: Apache-2.0
// Executables that are made without graph-level tracing.
#include "tests/unit/cupti/graph_trace_policy_support.h"

namespace gd::cupti {

TEST(GraphTracePolicyPlain, KernelsEndTooWhereABlockMakesReplaysComeNodeByNode) {
    GraphTracePolicy policy = at(RecordingLevel::Standard);
    policy.nodeRecordsUsedUp();
    EXPECT_EQ(policy.wanted(), kAll) << "no records of nodes come";
    ASSERT_FALSE(make(policy, {true, false}));
    EXPECT_EQ(policy.wanted(), kSync);
}

TEST(GraphTracePolicyPlain, AJobThatStartsAtFullMakesItsExecutablesWithoutGraphTracing) {
    GraphTracePolicy policy;
    policy.startsNodeByNode();
    for (const auto level : {RecordingLevel::Off, RecordingLevel::Full, RecordingLevel::History,
             RecordingLevel::Off, RecordingLevel::Full}) {
        policy.setLevel(level, 0);
        EXPECT_TRUE(policy.makesPlain());
        policy.instantiateBegan();
        EXPECT_EQ(policy.wanted(), at(level).wanted());
        EXPECT_FALSE(policy.execCreated({}, 0));
        policy.instantiateEnded();
        policy.execDestroyed(false, false);
    }
    policy.instantiateBegan();
    ASSERT_FALSE(policy.execCreated({}, 0));
    policy.instantiateEnded();
    policy.setLevel(RecordingLevel::Light, 0);
    EXPECT_FALSE(policy.makesPlain());
    EXPECT_EQ(policy.wanted(), kNothing) << "it would crash";
    EXPECT_FALSE(make(policy));
    policy.execDestroyed(false, false);
    policy.execDestroyed(false, false);
    policy.tick(GraphTracePolicy::kMaxPhaseNs);
    EXPECT_EQ(policy.wanted(), kGraphs);
    policy.setLevel(RecordingLevel::Full, 0);
    EXPECT_TRUE(make(policy)) << "from now on as in any other job";
}

// Measured: tracing that comes on between the begin and the end of an instantiate does not help.
TEST(GraphTracePolicyPlain, AnExecutableMadePartlyWithoutGraphTracingIsNotTraceable) {
    GraphTracePolicy policy;
    policy.startsNodeByNode();
    policy.setLevel(RecordingLevel::Full, 0);
    policy.instantiateBegan();
    policy.setLevel(RecordingLevel::Standard, 0);
    EXPECT_FALSE(policy.execCreated({}, 0));
    policy.instantiateEnded();

    policy = at(RecordingLevel::Light);
    policy.instantiateBegan();
    policy.instantiateBegan(); // another thread
    EXPECT_FALSE(policy.execCreated({true, false}, 0));
    policy.execDestroyed(false, false);
    EXPECT_FALSE(policy.execCreated({}, 0)) << "it was off for a moment";
    policy.instantiateEnded();
    policy.instantiateEnded();
    policy.execDestroyed(false, false);
    EXPECT_TRUE(make(policy));

    policy = at(RecordingLevel::Light);
    EXPECT_FALSE(make(policy, {true, false}));
    policy.instantiateBegan();
    policy.execDestroyed(false, false); // the one for whose sake it was off
    EXPECT_FALSE(policy.execCreated({}, 0));
    policy.instantiateEnded();
}

TEST(GraphTracePolicyPlain, APinBeforeAWindowAtFullKeepsNodes) {
    GraphTracePolicy policy;
    policy.startsNodeByNode();
    policy.setLevel(RecordingLevel::History, 0);
    policy.instantiateBegan();
    EXPECT_FALSE(policy.execCreated({false, true}, 0));
    policy.instantiateEnded();
    policy.setLevel(RecordingLevel::Full, 1);
    EXPECT_EQ(policy.wanted(), kKernels);
}

} // namespace gd::cupti
