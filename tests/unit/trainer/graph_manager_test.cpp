// SPDX-License-Identifier: Apache-2.0
#include "graphs/graph_manager.h"

#include <gtest/gtest.h>

#include <vector>

namespace gdt::graphs {
namespace {

using runtime::Status;

struct Add {
    static constexpr const char* kName = "add";
    struct Args {
        std::int64_t* counter;
        std::int64_t amount;
    };
    static void host(const Args& args) { *args.counter += args.amount; }
};

// Adds to a counter in device memory; can be told to break its capture.
class CountingRegion final : public Region {
public:
    explicit CountingRegion(std::int64_t* counter)
        : m_counter(counter) { }

    Status issue(runtime::Stream& stream) override {
        ++issued;
        for (int i = 0; i < launches; ++i) {
            GDT_TRY(stream.launch<Add>({}, {m_counter, amount}));
        }
        if (synchronises) {
            GDT_TRY(stream.synchronize());
        }
        return Status::Success;
    }
    std::uint64_t guard() const override { return guardValue; }

    int issued = 0;
    int launches = 1; // kernels of a run
    std::int64_t amount = 1;
    bool synchronises = false;
    std::uint64_t guardValue = 0;

private:
    std::int64_t* m_counter;
};

class Refusing final : public Agreement {
public:
    bool everyone(bool) override { return false; }
};

class LeavingOpen final : public CaptureHooks {
public:
    bool endsCapture(Scope, Status) override { return false; }
};

class GraphManagerTest : public ::testing::Test {
protected:
    GraphManagerTest() {
        void* memory = nullptr;
        GDT_CHECK(m_device.allocate(&memory, sizeof(std::int64_t)));
        m_counter = new (memory) std::int64_t(0);
        GDT_CHECK(m_slot.open(m_device));
    }

    GraphManager manager(const ManagerOptions& options, CaptureHooks& hooks, Agreement& agreement) {
        return {options, hooks, agreement, [this](const Transition& t) { m_states.push_back(t.to); }};
    }
    GraphManager manager(const ManagerOptions& options) { return manager(options, m_hooks, m_agreement); }

    std::int64_t counter() {
        GDT_CHECK(m_slot.stream().synchronize());
        return *m_counter;
    }

    static GraphKey key(std::int64_t seqLen) { return {Scope::Cycle, seqLen, 1, 1, 8}; }

    static const GraphEntry& entry(const GraphManager& manager, const GraphKey& key) {
        return manager.cache().entries().at(key);
    }

    runtime::Device m_device;
    StreamSlot m_slot;
    std::int64_t* m_counter = nullptr;
    CaptureHooks m_hooks;
    LoneAgreement m_agreement;
    std::vector<EntryState> m_states;
};

TEST_F(GraphManagerTest, WarmsUpCapturesOnceThenReplays) {
    CountingRegion region(m_counter);
    GraphManager m = manager({});
    for (int i = 0; i < 10; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    }
    EXPECT_EQ(region.issued, 4) << "three warm-up runs and the capture";
    EXPECT_EQ(counter(), 10);
    EXPECT_EQ(m.lastRun(), RunKind::Replay);
    EXPECT_EQ(std::vector<EntryState>(m_states.begin(), m_states.begin() + 5),
        (std::vector{EntryState::Warming, EntryState::Capturing, EntryState::Instantiating, EntryState::Ready,
            EntryState::Replaying}));
    EXPECT_EQ(m.clear(), Status::Success);
}

TEST_F(GraphManagerTest, WithoutAGuardTheGraphRunsAsItWasCaptured) {
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.guard = Guard::None;
    GraphManager m = manager(options);
    for (int i = 0; i < 6; ++i) {
        region.guardValue = i < 4 ? 8 : 5;
        region.amount = i < 4 ? 1 : 100;
        ASSERT_EQ(m.run(key(0), region, m_slot), Status::Success);
    }
    EXPECT_EQ(region.issued, 4);
    EXPECT_EQ(counter(), 6) << "stale, as asked for";
}

TEST_F(GraphManagerTest, AGuardThatRefusesNamesBothShapes) {
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.guard = Guard::Refuse;
    GraphManager m = manager(options);
    region.guardValue = 8;
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(m.run(key(0), region, m_slot), Status::Success);
    }
    EXPECT_TRUE(m.refusal().empty());
    region.guardValue = 5;
    EXPECT_NE(m.run(key(0), region, m_slot), Status::Success);
    EXPECT_NE(m.refusal().find("length 5 instead of 8"), std::string::npos) << m.refusal();
}

TEST_F(GraphManagerTest, EagerModeNeverCaptures) {
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.mode = GraphMode::Eager;
    GraphManager m = manager(options);
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    }
    EXPECT_EQ(region.issued, 5);
    EXPECT_TRUE(m_states.empty());
}

TEST_F(GraphManagerTest, LaterKeysOfAWarmScopeAreCapturedAtOnce) {
    CountingRegion region(m_counter);
    GraphManager m = manager({});
    for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    }
    ASSERT_EQ(m.run(key(9), region, m_slot), Status::Success);
    EXPECT_EQ(m.lastRun(), RunKind::Replay);
    EXPECT_EQ(m.cache().graphs(), 2U);
}

TEST_F(GraphManagerTest, BrokenCaptureFallsBackRetriesAndIsDisabled) {
    CountingRegion region(m_counter);
    region.synchronises = true;
    ManagerOptions options;
    options.retryAfter = 4;
    GraphManager m = manager(options);
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success) << "training must go on";
    }
    EXPECT_EQ(counter(), 20) << "each run did its work exactly once";
    EXPECT_EQ(entry(m, key(8)).state, EntryState::Disabled);
    EXPECT_EQ(entry(m, key(8)).reason, Reason::UnsupportedCall);
    EXPECT_EQ(entry(m, key(8)).failures, 2);
    EXPECT_FALSE(m_slot.stream().capturing());
}

TEST_F(GraphManagerTest, RetrySucceedsWhenTheCauseIsGone) {
    CountingRegion region(m_counter);
    region.synchronises = true;
    ManagerOptions options;
    options.retryAfter = 4;
    GraphManager m = manager(options);
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    }
    EXPECT_EQ(entry(m, key(8)).state, EntryState::EagerFallback);
    region.synchronises = false;
    for (int i = 0; i < 6; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    }
    EXPECT_EQ(entry(m, key(8)).state, EntryState::Ready);
    EXPECT_EQ(counter(), 11);
}

TEST_F(GraphManagerTest, FullCacheSendsNewcomersToEager) {
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.maxGraphs = 2;
    options.warmupRuns = 1;
    GraphManager m = manager(options);
    for (int round = 0; round < 5; ++round) {
        for (std::int64_t length = 1; length <= 3; ++length) {
            ASSERT_EQ(m.run(key(length), region, m_slot), Status::Success);
        }
    }
    EXPECT_EQ(m.cache().graphs(), 2U);
    const GraphEntry& first = entry(m, key(1));
    EXPECT_EQ(first.state, EntryState::EagerFallback) << "it was warming up while the others took the places";
    EXPECT_EQ(first.reason, Reason::CacheFull);
    EXPECT_EQ(counter(), 15);
}

TEST_F(GraphManagerTest, LruGivesUpTheGraphUsedLongestAgo) {
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.maxGraphs = 2;
    options.warmupRuns = 1;
    options.policy = CachePolicy::Lru;
    GraphManager m = manager(options);
    for (const std::int64_t length : {1, 1, 2, 1, 3}) {
        ASSERT_EQ(m.run(key(length), region, m_slot), Status::Success);
    }
    EXPECT_EQ(entry(m, key(2)).state, EntryState::Evicted);
    EXPECT_EQ(entry(m, key(1)).state, EntryState::Ready);
    EXPECT_EQ(entry(m, key(3)).state, EntryState::Ready);
    EXPECT_EQ(counter(), 5);
}

TEST_F(GraphManagerTest, LfuGivesUpTheGraphUsedLeastOften) {
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.maxGraphs = 2;
    options.warmupRuns = 1;
    options.policy = CachePolicy::Lfu;
    GraphManager m = manager(options);
    for (const std::int64_t length : {1, 1, 1, 2, 3}) { // 2 was used last, but seldom
        ASSERT_EQ(m.run(key(length), region, m_slot), Status::Success);
    }
    EXPECT_EQ(entry(m, key(2)).state, EntryState::Evicted);
    EXPECT_EQ(entry(m, key(1)).state, EntryState::Ready);
    EXPECT_EQ(counter(), 5);
}

TEST_F(GraphManagerTest, AutoRecordsAgainWhenAShapeChangesAndGivesUpWhenThatHappensTooOften) {
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.mode = GraphMode::Auto;
    options.maxRerecords = 2;
    GraphManager m = manager(options);
    const auto runAt = [&](std::uint64_t shape) {
        region.guardValue = shape;
        EXPECT_EQ(m.run(key(0), region, m_slot), Status::Success);
        return m.lastRun();
    };
    EXPECT_EQ(runAt(1), RunKind::WarmUp);
    EXPECT_EQ(runAt(1), RunKind::Replay) << "captured at its second run";
    EXPECT_EQ(runAt(2), RunKind::Replay) << "recorded again";
    EXPECT_EQ(runAt(2), RunKind::Replay);
    EXPECT_EQ(runAt(3), RunKind::Replay);
    EXPECT_EQ(entry(m, key(0)).reason, Reason::ShapeChanged);
    EXPECT_EQ(runAt(4), RunKind::Fallback) << "a third change is one too many";
    EXPECT_EQ(entry(m, key(0)).state, EntryState::Disabled);
    EXPECT_EQ(runAt(4), RunKind::Fallback);
    EXPECT_EQ(counter(), 7);
}

TEST_F(GraphManagerTest, GraphsWithinAPassWarmUpKeyByKeyAndAskTheStageOnly) {
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.warmupRuns = 2;
    Refusing everybody;
    LoneAgreement stage;
    GraphManager m(options, m_hooks, everybody, nullptr, &stage);
    GraphKey layer = key(1);
    layer.scope = Scope::Layer;
    for (int unit = 0; unit < 2; ++unit) {
        layer.unit = unit;
        for (const RunKind kind : {RunKind::WarmUp, RunKind::WarmUp, RunKind::Replay}) {
            ASSERT_EQ(m.run(layer, region, m_slot), Status::Success);
            EXPECT_EQ(m.lastRun(), kind) << "unit " << unit;
        }
    }
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(m.run(key(1), region, m_slot), Status::Success);
    }
    EXPECT_EQ(entry(m, key(1)).reason, Reason::PeerRefused) << "a cycle needs everybody";
    EXPECT_EQ(counter(), 9);
}

TEST_F(GraphManagerTest, ChangedAddressIsCapturedAgainIntoTheSameExecutable) {
    using S = EntryState;
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.warmupRuns = 1;
    GraphManager m = manager(options);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    }
    const std::uint64_t exec = entry(m, key(8)).exec.id();
    m_states.clear();
    region.guardValue = 1;
    region.amount = 100; // frozen in the old graph
    ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    EXPECT_EQ(counter(), 103);
    EXPECT_EQ(entry(m, key(8)).reason, Reason::PointerChanged);
    EXPECT_EQ(entry(m, key(8)).exec.id(), exec);
    EXPECT_EQ(m_states, (std::vector{S::Updating, S::Ready, S::Replaying, S::Ready}));
}

TEST_F(GraphManagerTest, ACaptureOfAnotherShapeGetsAnExecutableOfItsOwn) {
    using S = EntryState;
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.warmupRuns = 1;
    GraphManager m = manager(options);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    }
    m_states.clear();
    region.guardValue = 1;
    region.launches = 2;
    const int issued = region.issued;
    ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    EXPECT_EQ(counter(), 5);
    EXPECT_EQ(region.issued, issued + 1) << "one capture serves for both attempts";
    EXPECT_EQ(entry(m, key(8)).reason, Reason::TopologyChanged);
    EXPECT_EQ(m_states, (std::vector{S::Updating, S::Instantiating, S::Ready, S::Replaying, S::Ready}));
}

TEST_F(GraphManagerTest, AnUpdateThatFailsFallsBackAndLeavesNoGraph) {
    CountingRegion region(m_counter);
    ManagerOptions options;
    options.warmupRuns = 1;
    GraphManager m = manager(options);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    }
    region.guardValue = 1;
    region.synchronises = true;
    ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    EXPECT_EQ(m.lastRun(), RunKind::Fallback);
    EXPECT_EQ(entry(m, key(8)).state, EntryState::EagerFallback);
    EXPECT_FALSE(entry(m, key(8)).exec.valid());
    EXPECT_EQ(counter(), 4);
}

TEST_F(GraphManagerTest, APoolWithoutRoomRefusesTheGraphWithFigures) {
    class Full final : public CaptureMemory {
    public:
        [[nodiscard]] std::string refusal(const GraphKey& key) const override {
            return key.scope == Scope::Optimizer ? "" : "it needs 2 MiB";
        }
        void freeze(bool frozen) override { changes.push_back(frozen); }
        std::vector<bool> changes;
    };
    CountingRegion region(m_counter);
    Full memory;
    std::vector<std::string> texts;
    GraphManager m(
        {}, m_hooks, m_agreement,
        [&](const Transition& t) {
            if (t.to == EntryState::Failed) {
                texts.push_back(t.reasonText());
            }
        },
        nullptr, &memory);
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
        ASSERT_EQ(m.run({Scope::Optimizer, 0, 0, 0, 8}, region, m_slot), Status::Success);
    }
    EXPECT_EQ(texts, (std::vector<std::string>{"the graph pool is exhausted: it needs 2 MiB"}));
    EXPECT_EQ(entry(m, key(8)).reason, Reason::PoolExhausted);
    EXPECT_EQ(memory.changes, (std::vector<bool>{true, false})) << "frozen around the one capture";
    EXPECT_EQ(counter(), 10);
}

TEST_F(GraphManagerTest, PeerRefusalDiscardsAGoodCapture) {
    CountingRegion region(m_counter);
    Refusing refusing;
    GraphManager m = manager({}, m_hooks, refusing);
    for (int i = 0; i < 6; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    }
    EXPECT_EQ(counter(), 6);
    EXPECT_EQ(entry(m, key(8)).reason, Reason::PeerRefused);
    EXPECT_FALSE(entry(m, key(8)).exec.valid());
}

TEST_F(GraphManagerTest, CaptureLeftOpenMovesTheWorkToANewStream) {
    CountingRegion region(m_counter);
    LeavingOpen hooks;
    ManagerOptions options;
    options.maxFailures = 1;
    GraphManager m = manager(options, hooks, m_agreement);
    for (int i = 0; i < 6; ++i) {
        ASSERT_EQ(m.run(key(8), region, m_slot), Status::Success);
    }
    EXPECT_TRUE(m_slot.anyLeftOpen());
    EXPECT_FALSE(m_slot.stream().capturing());
    EXPECT_EQ(counter(), 6);
    EXPECT_EQ(entry(m, key(8)).reason, Reason::LeftOpen);
    runtime::CaptureMode mode = runtime::CaptureMode::Global;
    GDT_CHECK(runtime::exchangeThreadCaptureMode(&mode));
}

TEST(EntryState, TransitionsAreThoseOfTheDesign) {
    using S = EntryState;
    EXPECT_TRUE(mayFollow(S::Ready, S::Replaying));
    EXPECT_TRUE(mayFollow(S::Failed, S::EagerFallback));
    EXPECT_FALSE(mayFollow(S::Cold, S::Ready));
    EXPECT_FALSE(mayFollow(S::Capturing, S::Ready));
    EXPECT_FALSE(mayFollow(S::Failed, S::Ready));
    for (int to = 0; to <= static_cast<int>(S::Disabled); ++to) {
        EXPECT_FALSE(mayFollow(S::Disabled, static_cast<S>(to))) << "disabled is for good";
    }
}

TEST(GraphKey, TextNamesWhatIsFrozen) {
    EXPECT_EQ((GraphKey{Scope::Cycle, 64, 4, 2, 4}).text(), "cycle seq=64 mb=4x2 f32");
    EXPECT_EQ((GraphKey{Scope::Optimizer, 0, 0, 0, 8}).text(), "optimizer f64");
}

} // namespace
} // namespace gdt::graphs
