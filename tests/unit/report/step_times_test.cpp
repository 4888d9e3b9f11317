// SPDX-License-Identifier: Apache-2.0
// The time of a step is the device's pace: how far the host runs ahead of it says nothing.
#include "analyzer/report/compare/step_times.h"

#include "analyzer/facts/facts.h"
#include "analyzer/report/compare/compare.h"
#include "tests/support/trace_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

using namespace gd;
using namespace gd::report;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

namespace {

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kWarmup = 3;

struct Job {
    int steps = 40;
    std::int64_t hostNs = 100 * kUs; // to enqueue a step
    std::function<std::int64_t(int)> deviceNs = [](int) { return 1000 * kUs; };
    int queue = 1000; // steps that the device's queue holds: a launch waits for room in it
    bool hasEagerWork = true; // a kernel after each replay
};

// A job of one replay and one kernel a step, with facts. Only what a host and a device with a queue between
// them would do: the host goes on when the queue has room, the device when it has work.
void record(test::TraceBuilder& trace, const Job& run) {
    trace.capturedGraph(1, 10, 20, {"gemm"});
    std::vector<std::int64_t> ends;
    std::int64_t hostNs = 1000 * kUs;
    for (int i = 0; i < run.steps; ++i) {
        const std::int64_t startNs = hostNs;
        const auto full = static_cast<std::size_t>(run.queue);
        if (ends.size() >= full)
            hostNs = std::max(hostNs, ends[ends.size() - full]);
        const std::int64_t launchNs = hostNs + 10 * kUs;
        const std::int64_t beginNs = std::max(launchNs, ends.empty() ? 0 : ends.back());
        const std::int64_t doneNs = beginNs + run.deviceNs(i);
        const std::int64_t tailNs = run.hasEagerWork ? 50 * kUs : 0;
        trace.replay(1, startNs + kUs, launchNs, beginNs, doneNs - tailNs);
        if (run.hasEagerWork)
            trace.launch(1, "tail", launchNs + kUs, doneNs - tailNs, doneNs, {});
        hostNs = std::max(hostNs, launchNs) + run.hostNs;
        trace.range(1, "step", startNs, hostNs);
        ends.push_back(doneNs);
    }
}

void build(test::TraceBuilder& trace) {
    const Result<void> built = facts::buildFacts(trace.db(), {});
    ASSERT_TRUE(built) << built.error().message;
}

Comparison compared(test::TraceBuilder& base, test::TraceBuilder& fresh) {
    Report before = readTrace(base.db(), "base.gdt").value();
    Report after = readTrace(fresh.db(), "new.gdt").value();
    return compare({base.db(), std::move(before)}, {fresh.db(), std::move(after)}, {}).value();
}

double medianOf(const std::vector<StepTime>& times) {
    std::vector<double> values;
    for (const StepTime& time : times)
        values.push_back(static_cast<double>(time.durationNs));
    return spreadOf(values).median;
}

class StepTimesTest : public testing::Test {
protected:
    void both(const Job& before, const Job& after) {
        record(base, before);
        record(fresh, after);
        build(base);
        build(fresh);
    }
    test::TraceBuilder base, fresh;
};

TEST_F(StepTimesTest, AHostThatRunsAheadAndARunOfOtherLengthAreNoRegression) {
    // A short run whose host never waits, and a long one whose host waits for the device from step 8 on.
    both({.steps = 20}, {.steps = 200, .queue = 8});
    const StepTimes before = readStepTimes(base.db()).value();
    const StepTimes after = readStepTimes(fresh.db()).value();
    EXPECT_DOUBLE_EQ(medianOf(before.host), 110 * kUs);
    EXPECT_GT(medianOf(after.host), 900 * kUs); // what the host's ranges would call a regression
    EXPECT_DOUBLE_EQ(medianOf(before.device), 1000 * kUs);
    EXPECT_DOUBLE_EQ(medianOf(after.device), 1000 * kUs);
    EXPECT_THAT(before.device, SizeIs(20 - kWarmup));
    EXPECT_THAT(after.device, SizeIs(200 - kWarmup));
    const Comparison found = compared(base, fresh);
    EXPECT_TRUE(found.stepClock.onDevice);
    const Difference* steps = found.find("steps", "", "duration");
    EXPECT_EQ(steps->change, Change::same);
    EXPECT_DOUBLE_EQ(steps->base->median, 1000 * kUs);
    EXPECT_DOUBLE_EQ(*steps->noise, 20 * kUs); // the threshold: these values do not spread
    EXPECT_EQ(judgeRegression(found, 0.1).what, Verdict::What::fine);
    EXPECT_EQ(judgeRegression(compared(fresh, base), 0.1).what, Verdict::What::fine);
    const std::string text = writeCompareText(found, false);
    EXPECT_THAT(
        text, HasSubstr("step time on the device, from the end of a step's work to that of the next"));
    EXPECT_THAT(text, HasSubstr("differences up to 20.0 us (2.0 %) are noise"));
}

TEST_F(StepTimesTest, ADeviceThatTakesATwentiethLongerIsFoundWhateverTheHostDoes) {
    // The host of the slower run looks faster: it never waits.
    both({.steps = 200, .queue = 8}, {.steps = 40, .deviceNs = [](int) { return 1050 * kUs; }});
    EXPECT_LT(
        medianOf(readStepTimes(fresh.db()).value().host), medianOf(readStepTimes(base.db()).value().host));
    const Comparison found = compared(base, fresh);
    const Difference* steps = found.find("steps", "", "duration");
    EXPECT_EQ(steps->change, Change::worse);
    EXPECT_DOUBLE_EQ(*steps->relative(), 0.05);
    const Verdict verdict = judgeRegression(found, 4.9);
    EXPECT_EQ(verdict.what, Verdict::What::regression);
    EXPECT_THAT(verdict.why,
        testing::ElementsAre("a step takes 5.0 % longer on the device; up to 2.0 % would be noise"));
    EXPECT_EQ(judgeRegression(found, 5).what, Verdict::What::fine);
    EXPECT_EQ(compared(fresh, base).find("steps", "", "duration")->change, Change::better);
}

TEST_F(StepTimesTest, WarmUpStepsCountOnNeitherClock) {
    const auto slowStart = [](int step) { return (step < kWarmup ? 20'000 : 1000) * kUs; };
    both({.steps = 10}, {.steps = 10, .deviceNs = slowStart});
    const StepTimes times = readStepTimes(fresh.db()).value();
    EXPECT_THAT(times.device, SizeIs(10 - kWarmup));
    EXPECT_THAT(times.device, Each(testing::Field(&StepTime::durationNs, 1000 * kUs)));
    EXPECT_EQ(compared(base, fresh).find("steps", "", "duration")->change, Change::same);
}

TEST_F(StepTimesTest, NoiseIsWhatTheMediansMayBeOffWhereTheySpread) {
    // Quarters 900 and 1100 us, 37 steady steps: each median may be off by 1.57 * 200 / sqrt(37) us.
    const auto uneven = [](int step) { return (step % 2 == 0 ? 900 : 1100) * kUs; };
    both({.deviceNs = uneven}, {.deviceNs = [&](int step) { return uneven(step) + 60 * kUs; }});
    const Comparison found = compared(base, fresh);
    const Difference* steps = found.find("steps", "", "duration");
    EXPECT_NEAR(*steps->noise, 2 * 1.57 * 200 * kUs / std::sqrt(37.0), 1);
    EXPECT_EQ(steps->change, Change::same);
    EXPECT_NEAR(*steps->absolute(), 60 * kUs, 1);
}

TEST_F(StepTimesTest, ReplaysAloneDoWhereNothingElseIsRecorded) {
    // --level light: steps end with their last replay, equally in every step.
    both({.steps = 20, .hasEagerWork = false}, {.steps = 100, .queue = 4, .hasEagerWork = false});
    for (test::TraceBuilder* trace : {&base, &fresh}) {
        trace->coverage("eager_kernel_activity", "absent");
        build(*trace);
    }
    const Comparison found = compared(base, fresh);
    EXPECT_TRUE(found.stepClock.onDevice) << found.stepClock.reason;
    EXPECT_EQ(found.find("steps", "", "duration")->change, Change::same);
}

TEST_F(StepTimesTest, TheHostTellsBothSidesWhereOneLacksDeviceWork) {
    both({.steps = 20}, {.steps = 20});
    fresh.coverage("eager_kernel_activity", "partial");
    build(fresh);
    const Comparison found = compared(base, fresh);
    EXPECT_FALSE(found.stepClock.onDevice);
    EXPECT_EQ(found.stepClock.reason,
        "in the new trace device work was recorded throughout 0 of the 17 steady steps of rank 0");
    EXPECT_DOUBLE_EQ(found.find("steps", "", "duration")->base->median, 110 * kUs);
    EXPECT_DOUBLE_EQ(found.find("steps", "", "duration")->fresh->median, 110 * kUs);
    EXPECT_THAT(
        writeCompareText(found, false), HasSubstr("on the host, because in the new trace device work"));
    const auto json = nlohmann::json::parse(writeCompareJson(found));
    EXPECT_EQ(json["step_clock"]["clock"], "host");
    EXPECT_EQ(json["step_clock"]["reason"], found.stepClock.reason);
}

TEST_F(StepTimesTest, StepsAroundAReplayWithoutDeviceTimesAreLeftOut) {
    record(base, {.steps = 20, .hasEagerWork = false});
    // The replay of step 10 was not measured: neither its own end is known, nor how long it went on in step
    // 11, nor so where step 12 began.
    base.sql("UPDATE replay SET start_ns = NULL, end_ns = NULL, detail = 'launch_only' WHERE replay_id = "
             "(SELECT replay_id FROM replay ORDER BY launch_start_ns LIMIT 1 OFFSET 10)");
    build(base);
    const StepTimes times = readStepTimes(base.db()).value();
    EXPECT_THAT(times.whyNotDevice, IsEmpty());
    EXPECT_THAT(times.device, SizeIs(20 - kWarmup - 3));
    EXPECT_THAT(times.device, Each(testing::Field(&StepTime::durationNs, 1000 * kUs)));
    // The same of most steps: too little is known.
    base.sql("UPDATE replay SET start_ns = NULL, end_ns = NULL, detail = 'launch_only' "
             "WHERE launch_start_ns > (SELECT start_ns FROM step WHERE step = 6)");
    build(base);
    EXPECT_THAT(readStepTimes(base.db()).value().whyNotDevice, HasSubstr("3 of the 17 steady steps"));
}

TEST_F(StepTimesTest, ATraceWithoutStepsHasNoTimesAndNoReason) {
    build(base);
    const StepTimes times = readStepTimes(base.db()).value();
    EXPECT_THAT(times.host, IsEmpty());
    EXPECT_THAT(times.device, IsEmpty());
    EXPECT_THAT(times.whyNotDevice, IsEmpty());
}

} // namespace
