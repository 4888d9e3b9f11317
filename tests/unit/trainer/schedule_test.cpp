// SPDX-License-Identifier: Apache-2.0
// Schedules as data: all stages' lists run together in a simulator in which a group of messages ends only
// when both ends of each are there, as with sends that wait for their receivers.
#include "pipeline/schedule.h"

#include "kernels/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace gdt::pipeline {
namespace {

std::string nameOf(const ScheduleShape& shape) {
    return std::string(scheduleName(shape.kind)) + " P=" + std::to_string(shape.stages)
        + " V=" + std::to_string(shape.chunks) + " M=" + std::to_string(shape.microBatches);
}

bool isMessage(const Instruction& i) {
    return i.peer >= 0;
}

// One simulated run; `groups` false: messages one by one, in their order.
class Simulator {
public:
    Simulator(const ScheduleShape& shape, const Schedule& schedule, bool groups)
        : m_shape(shape)
        , m_schedule(schedule)
        , m_groups(groups)
        , m_position(schedule.stages.size(), 0) { }

    /// Empty when every stage came to its end, else what is wrong.
    std::string run() {
        for (bool moved = true; moved && m_problem.empty();) {
            moved = false;
            for (int stage = 0; stage < m_shape.stages; ++stage) {
                moved = step(stage) || moved;
            }
        }
        for (int stage = 0; stage < m_shape.stages && m_problem.empty(); ++stage) {
            if (m_position[index(stage)] != list(stage).size()) {
                m_problem = "deadlock at stage " + std::to_string(stage);
            }
        }
        return m_problem;
    }
    [[nodiscard]] int mostInFlight(int stage) const { return m_most.at(stage); }

private:
    using Message = std::tuple<int, int, bool, int, std::int64_t>; // from, to, forward, part, micro-batch

    static std::size_t index(int stage) { return static_cast<std::size_t>(stage); }
    const std::vector<Instruction>& list(int stage) const {
        return m_schedule.stages[index(stage)].instructions;
    }

    std::vector<Instruction> groupAt(int stage, std::size_t first) const {
        std::vector<Instruction> group;
        for (std::size_t i = first; i < list(stage).size() && isMessage(list(stage)[i])
             && list(stage)[i].tick == list(stage)[first].tick && (m_groups || group.empty());
             ++i) {
            group.push_back(list(stage)[i]);
        }
        return group;
    }

    Message messageOf(int stage, const Instruction& i) const {
        const bool forward
            = i.operation == Operation::SendForward || i.operation == Operation::ReceiveForward;
        const bool sends = i.operation == Operation::SendForward || i.operation == Operation::SendBackward;
        const int own = i.chunk * m_shape.stages + stage;
        const int from = sends ? own : (forward ? own - 1 : own + 1);
        return {sends ? stage : i.peer, sends ? i.peer : stage, forward, from, i.microBatch};
    }

    // Whether the other end of the message is in the group that its stage has come to.
    bool offered(int stage, const Instruction& i) const {
        const std::size_t at = m_position[index(i.peer)];
        if (at >= list(i.peer).size() || !isMessage(list(i.peer)[at])) {
            return false;
        }
        const auto group = groupAt(i.peer, at);
        return std::any_of(group.begin(), group.end(), [&](const Instruction& other) {
            return other.peer == stage && messageOf(i.peer, other) == messageOf(stage, i);
        });
    }

    bool step(int stage) {
        std::size_t& at = m_position[index(stage)];
        if (at == list(stage).size()) {
            return false;
        }
        const Instruction& first = list(stage)[at];
        if (!isMessage(first)) {
            compute(stage, first);
            ++at;
            return true;
        }
        // A message that both ends offer moves; a stage goes on when its whole group has moved.
        bool moved = false;
        bool all = true;
        const auto group = groupAt(stage, at);
        for (const Instruction& i : group) {
            const Message message = messageOf(stage, i);
            if (!m_moved.contains(message) && offered(stage, i)) {
                m_moved.insert(message);
                moved = true;
            }
            all = all && m_moved.contains(message);
        }
        if (all) {
            for (const Instruction& i : group) {
                arrive(stage, i);
            }
            at += group.size();
        }
        return moved || all;
    }

    using Pass = std::tuple<int, std::int64_t>; // part, micro-batch

    void arrive(int stage, const Instruction& i) {
        const Pass pass{i.chunk * m_shape.stages + stage, i.microBatch};
        if (i.operation == Operation::ReceiveForward) {
            m_inputs.insert(pass);
            take(stage, i);
        } else if (i.operation == Operation::ReceiveBackward) {
            m_gradients.insert(pass);
        } else if (i.operation == Operation::SendForward && !m_forward.contains(pass)) {
            m_problem = "sent before it was made";
        } else if (i.operation == Operation::SendBackward && !m_backward.contains(pass)) {
            m_problem = "gradient sent before it was made";
        }
    }

    void take(int stage, const Instruction& i) {
        if (!m_used.insert({stage, i.chunk, i.slot}).second) {
            m_problem = "a set of buffers is used twice";
        }
        m_most[stage] = std::max(m_most[stage], ++m_inFlight[stage]);
    }

    void compute(int stage, const Instruction& i) {
        const int part = i.chunk * m_shape.stages + stage;
        const Pass pass{part, i.microBatch};
        const int last = m_shape.stages * m_shape.chunks - 1;
        if (i.operation == Operation::Forward) {
            if (part == 0) {
                take(stage, i);
            } else if (!m_inputs.contains(pass)) {
                m_problem = "forward without input";
            }
            m_problem = m_forward.insert(pass).second ? m_problem : "forward twice";
        } else if (i.operation == Operation::Backward) {
            if (!m_forward.contains(pass)) {
                m_problem = "backward before its forward";
            } else if (part < last && !m_gradients.contains(pass)) {
                m_problem = "backward without gradient";
            }
            m_problem = m_backward.insert(pass).second ? m_problem : "backward twice";
            m_used.erase({stage, i.chunk, i.slot});
            --m_inFlight[stage];
        } else if (m_backward.size() == 0) {
            m_problem = "reduction before the gradients";
        }
    }

    const ScheduleShape& m_shape;
    const Schedule& m_schedule;
    bool m_groups;
    std::vector<std::size_t> m_position;
    std::set<Message> m_moved;
    std::set<Pass> m_forward, m_backward, m_inputs, m_gradients;
    std::set<std::tuple<int, int, int>> m_used;
    std::map<int, int> m_inFlight, m_most;
    std::string m_problem;
};

std::vector<ScheduleShape> randomShapes() {
    std::vector<ScheduleShape> shapes;
    for (std::uint64_t i = 0; i < 120; ++i) {
        const auto draw = [&](std::uint64_t what, std::uint64_t most) {
            return static_cast<int>(kernels::randomBits(11, what, i) % most) + 1;
        };
        ScheduleShape shape;
        shape.kind = static_cast<ScheduleKind>(i % 4);
        shape.stages = draw(1, 8);
        shape.microBatches = draw(2, 20);
        if (shape.kind == ScheduleKind::Interleaved) {
            shape.stages = draw(1, 5) + 1;
            shape.chunks = draw(3, 4) + 1;
            shape.microBatches = draw(2, 4) * shape.stages;
        }
        shapes.push_back(shape);
    }
    return shapes;
}

TEST(Schedule, RandomShapesRunToTheEndWithEveryPassOnce) {
    for (const ScheduleShape& shape : randomShapes()) {
        ASSERT_EQ(shape.problem(), "") << nameOf(shape);
        const Schedule schedule = makeSchedule(shape);
        EXPECT_EQ(Simulator(shape, schedule, true).run(), "") << nameOf(shape);
        for (const Schedule::Stage& stage : schedule.stages) {
            const auto passes = std::count_if(stage.instructions.begin(), stage.instructions.end(),
                [](const Instruction& i) { return i.operation == Operation::Forward; });
            EXPECT_EQ(passes, shape.microBatches * shape.chunks) << nameOf(shape);
            EXPECT_EQ(stage.instructions.back().operation, Operation::GradientSync);
        }
    }
}

TEST(Schedule, InFlightIsTheWarmUpPlusOne) {
    for (const ScheduleShape& shape : randomShapes()) {
        const Schedule schedule = makeSchedule(shape);
        Simulator simulator(shape, schedule, true);
        ASSERT_EQ(simulator.run(), "");
        for (int stage = 0; stage < shape.stages; ++stage) {
            const std::int64_t total = shape.microBatches * shape.chunks;
            std::int64_t warmup = 0;
            switch (shape.kind) {
            case ScheduleKind::OneFOneB:
                warmup = shape.stages - stage - 1;
                break;
            case ScheduleKind::Interleaved:
                warmup = (shape.stages - stage - 1) * 2 + (shape.chunks - 1) * shape.stages;
                break;
            case ScheduleKind::GPipe:
                warmup = total;
                break;
            case ScheduleKind::Serial:
                break;
            }
            EXPECT_LE(simulator.mostInFlight(stage), std::min(warmup + 1, total))
                << nameOf(shape) << " stage " << stage;
        }
    }
}

// (P - 1) / M of the time is idle with equal forward and backward passes, a V-th of that when interleaved;
// the serial order works on one stage at a time.
TEST(Schedule, BubbleFollowsTheFormula) {
    for (const ScheduleShape& shape : randomShapes()) {
        const std::int64_t busy = 2 * shape.microBatches * shape.chunks;
        const std::int64_t ticks = makeSchedule(shape).ticks;
        if (shape.kind == ScheduleKind::Serial) {
            EXPECT_EQ(ticks, 2 * shape.microBatches * shape.stages) << nameOf(shape);
        } else {
            EXPECT_EQ(ticks - busy, 2 * (shape.stages - 1)) << nameOf(shape);
        }
    }
}

// Each stage first sends and then receives: without groups the two directions of the steady state wait for
// each other.
TEST(Schedule, SteadyStateNeedsItsGroups) {
    const ScheduleShape shape{ScheduleKind::OneFOneB, 2, 1, 4};
    Schedule schedule = makeSchedule(shape);
    for (Schedule::Stage& stage : schedule.stages) {
        auto& list = stage.instructions;
        for (auto first = list.begin(); first != list.end();) {
            const auto last = std::find_if(first, list.end(),
                [&](const Instruction& i) { return !isMessage(i) || i.tick != first->tick; });
            std::stable_partition(first, last, [](const Instruction& i) {
                return i.operation == Operation::SendForward || i.operation == Operation::SendBackward;
            });
            first = last == first ? first + 1 : last;
        }
    }
    EXPECT_EQ(Simulator(shape, schedule, true).run(), "");
    EXPECT_NE(Simulator(shape, schedule, false).run().find("deadlock"), std::string::npos);
}

TEST(Schedule, OneStageRunsForwardAndBackwardInTurn) {
    const Schedule schedule = makeSchedule({ScheduleKind::OneFOneB, 1, 1, 3});
    const auto& list = schedule.stages[0].instructions;
    ASSERT_EQ(list.size(), 7U);
    for (std::size_t m = 0; m < 3; ++m) {
        EXPECT_EQ(list[2 * m].operation, Operation::Forward);
        EXPECT_EQ(list[2 * m + 1].operation, Operation::Backward);
        EXPECT_EQ(list[2 * m].microBatch, static_cast<std::int64_t>(m));
    }
    EXPECT_EQ(schedule.stages[0].slots, std::vector<int>{1});
}

TEST(Schedule, ImpossibleShapesNameTheOption) {
    EXPECT_NE(ScheduleShape({ScheduleKind::Interleaved, 2, 2, 3}).problem().find("--micro-batches"),
        std::string::npos);
    EXPECT_NE(
        ScheduleShape({ScheduleKind::Interleaved, 1, 2, 4}).problem().find("--pp 2"), std::string::npos);
    EXPECT_NE(
        ScheduleShape({ScheduleKind::GPipe, 2, 2, 4}).problem().find("--virtual-stages"), std::string::npos);
    for (const auto kind :
        {ScheduleKind::OneFOneB, ScheduleKind::GPipe, ScheduleKind::Interleaved, ScheduleKind::Serial}) {
        EXPECT_EQ(scheduleFromName(scheduleName(kind)), kind);
    }
    EXPECT_FALSE(scheduleFromName("zero-bubble"));
}

} // namespace
} // namespace gdt::pipeline
