// SPDX-License-Identifier: Apache-2.0
#include "pipeline/schedule.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace gdt::pipeline {

namespace {

struct NamedKind {
    const char* name;
    ScheduleKind kind;
};

constexpr NamedKind kNames[] = {{"1f1b", ScheduleKind::OneFOneB}, {"gpipe", ScheduleKind::GPipe},
    {"interleaved", ScheduleKind::Interleaved}, {"serial", ScheduleKind::Serial}};

// A pass that a stage has to run.
struct Task {
    bool forward = true;
    std::int64_t microBatch = 0;
    int chunk = 0;
};

using Order = std::vector<Task>;

// `warmup` forwards, then one forward and one backward in turn, then the remaining backwards.
Order inTurn(const Order& forwards, const Order& backwards, std::int64_t warmup) {
    Order order(forwards.begin(), forwards.begin() + warmup);
    for (std::size_t i = 0; i < backwards.size(); ++i) {
        if (const std::size_t next = static_cast<std::size_t>(warmup) + i; next < forwards.size()) {
            order.push_back(forwards[next]);
        }
        order.push_back(backwards[i]);
    }
    return order;
}

Order interleaved(const ScheduleShape& shape, int stage) {
    const std::int64_t group = static_cast<std::int64_t>(shape.stages) * shape.chunks;
    const std::int64_t total = shape.microBatches * shape.chunks;
    Order forwards;
    Order backwards;
    for (std::int64_t k = 0; k < total; ++k) {
        const std::int64_t microBatch = k / group * shape.stages + k % shape.stages;
        const int chunk = static_cast<int>(k % group / shape.stages);
        forwards.push_back({true, microBatch, chunk});
        backwards.push_back({false, microBatch, shape.chunks - 1 - chunk});
    }
    const std::int64_t warmup
        = (shape.stages - stage - 1) * 2 + static_cast<std::int64_t>(shape.chunks - 1) * shape.stages;
    return inTurn(forwards, backwards, std::min(warmup, total));
}

Order orderOf(const ScheduleShape& shape, int stage) {
    if (shape.kind == ScheduleKind::Interleaved) {
        return interleaved(shape, stage);
    }
    Order forwards;
    Order backwards;
    for (std::int64_t m = 0; m < shape.microBatches; ++m) {
        forwards.push_back({true, m, 0});
        backwards.push_back({false, m, 0});
    }
    switch (shape.kind) {
    case ScheduleKind::GPipe:
        return inTurn(forwards, backwards, shape.microBatches);
    case ScheduleKind::Serial:
        return inTurn(forwards, backwards, 0);
    default:
        return inTurn(
            forwards, backwards, std::min<std::int64_t>(shape.stages - stage - 1, shape.microBatches));
    }
}

// When each pass runs: time[part][microBatch], -1 while unknown.
using Times = std::vector<std::vector<std::int64_t>>;

class Builder {
public:
    explicit Builder(const ScheduleShape& shape)
        : m_shape(shape)
        , m_parts(shape.stages * shape.chunks)
        , m_forward(times())
        , m_backward(times()) { }

    Schedule build() {
        runTicks();
        m_schedule.stages.resize(static_cast<std::size_t>(m_shape.stages));
        for (int stage = 0; stage < m_shape.stages; ++stage) {
            list(stage);
        }
        return std::move(m_schedule);
    }

private:
    [[nodiscard]] Times times() const {
        return Times(static_cast<std::size_t>(m_parts),
            std::vector<std::int64_t>(static_cast<std::size_t>(m_shape.microBatches), -1));
    }
    static std::int64_t& at(Times& times, int part, std::int64_t microBatch) {
        return times[static_cast<std::size_t>(part)][static_cast<std::size_t>(microBatch)];
    }
    [[nodiscard]] int part(int stage, int chunk) const { return chunk * m_shape.stages + stage; }

    // Whether what the pass needs was made before `tick`.
    bool ready(int stage, const Task& task, std::int64_t tick) {
        const int own = part(stage, task.chunk);
        const auto before = [&](std::int64_t made) { return made >= 0 && made < tick; };
        if (task.forward) {
            return own == 0 || before(at(m_forward, own - 1, task.microBatch));
        }
        return before(at(m_forward, own, task.microBatch))
            && (own == m_parts - 1 || before(at(m_backward, own + 1, task.microBatch)));
    }

    // Every stage runs the next pass of its order as soon as it can.
    void runTicks() {
        std::vector<std::size_t> next(static_cast<std::size_t>(m_shape.stages));
        for (int stage = 0; stage < m_shape.stages; ++stage) {
            m_orders.push_back(orderOf(m_shape, stage));
        }
        for (std::size_t left = 2 * static_cast<std::size_t>(m_parts * m_shape.microBatches); left > 0;) {
            for (int stage = 0; stage < m_shape.stages; ++stage) {
                const Order& order = m_orders[static_cast<std::size_t>(stage)];
                std::size_t& position = next[static_cast<std::size_t>(stage)];
                if (position < order.size() && ready(stage, order[position], m_schedule.ticks)) {
                    const Task& task = order[position++];
                    at(task.forward ? m_forward : m_backward, part(stage, task.chunk), task.microBatch)
                        = m_schedule.ticks;
                    --left;
                }
            }
            ++m_schedule.ticks;
        }
    }

    // Messages of `stage` at the end of each tick, in an order that is the same at both ends.
    std::multimap<std::int64_t, Instruction> messages(int stage) {
        std::multimap<std::int64_t, Instruction> list;
        const int stages = m_shape.stages;
        for (const bool forward : {true, false}) {
            for (int from = 0; stages > 1 && from < m_parts; ++from) {
                const int to = forward ? from + 1 : from - 1;
                if (to < 0 || to >= m_parts || (from % stages != stage && to % stages != stage)) {
                    continue;
                }
                for (std::int64_t m = 0; m < m_shape.microBatches; ++m) {
                    const std::int64_t tick = forward ? at(m_forward, to, m) - 1 : at(m_backward, from, m);
                    const bool sends = from % stages == stage;
                    const Operation operation = forward
                        ? (sends ? Operation::SendForward : Operation::ReceiveForward)
                        : (sends ? Operation::SendBackward : Operation::ReceiveBackward);
                    const int own = sends ? from : to;
                    const int other = sends ? to : from;
                    list.insert({tick, {operation, m, own / stages, 0, other % stages, tick}});
                }
            }
        }
        return list;
    }

    // Hands out the lowest free set of buffers of the chunk.
    int takeSlot(std::vector<int>& slots, std::map<std::pair<int, int>, bool>& used, int chunk) {
        int slot = 0;
        while (used[{chunk, slot}]) {
            ++slot;
        }
        used[{chunk, slot}] = true;
        slots[static_cast<std::size_t>(chunk)] = std::max(slots[static_cast<std::size_t>(chunk)], slot + 1);
        return slot;
    }

    void list(int stage) {
        Schedule::Stage& out = m_schedule.stages[static_cast<std::size_t>(stage)];
        out.slots.assign(static_cast<std::size_t>(m_shape.chunks), 0);
        const auto all = messages(stage);
        std::map<std::pair<int, std::int64_t>, int> slotOf; // (chunk, micro-batch)
        std::map<std::pair<int, int>, bool> used;
        const Order& order = m_orders[static_cast<std::size_t>(stage)];
        std::size_t next = 0;
        for (std::int64_t tick = 0; tick < m_schedule.ticks; ++tick) {
            std::optional<std::pair<int, int>> freed;
            if (next < order.size()) {
                const Task& task = order[next];
                const int own = part(stage, task.chunk);
                if (at(task.forward ? m_forward : m_backward, own, task.microBatch) == tick) {
                    ++next;
                    const auto key = std::pair(task.chunk, task.microBatch);
                    if (task.forward && !slotOf.contains(key)) {
                        slotOf[key] = takeSlot(out.slots, used, task.chunk);
                    }
                    out.instructions.push_back({task.forward ? Operation::Forward : Operation::Backward,
                        task.microBatch, task.chunk, slotOf[key], -1, tick});
                    if (!task.forward) {
                        freed = std::pair(task.chunk, slotOf[key]);
                    }
                }
            }
            // An input may arrive in the set whose gradient leaves in the same group: other buffers.
            if (freed) {
                used[*freed] = false;
            }
            const auto [begin, end] = all.equal_range(tick);
            for (auto message = begin; message != end; ++message) {
                Instruction instruction = message->second;
                const auto key = std::pair(instruction.chunk, instruction.microBatch);
                if (instruction.operation == Operation::ReceiveForward) {
                    slotOf[key] = takeSlot(out.slots, used, instruction.chunk);
                }
                instruction.slot = slotOf[key];
                out.instructions.push_back(instruction);
            }
        }
        out.instructions.push_back({Operation::GradientSync, -1, 0, 0, -1, m_schedule.ticks});
    }

    const ScheduleShape& m_shape;
    int m_parts;
    Times m_forward, m_backward;
    std::vector<Order> m_orders;
    Schedule m_schedule;
};

} // namespace

const char* scheduleName(ScheduleKind kind) {
    const auto* found = std::find_if(
        std::begin(kNames), std::end(kNames), [&](const NamedKind& named) { return named.kind == kind; });
    return found->name;
}

std::optional<ScheduleKind> scheduleFromName(std::string_view name) {
    const auto* found = std::find_if(
        std::begin(kNames), std::end(kNames), [&](const NamedKind& named) { return named.name == name; });
    return found == std::end(kNames) ? std::nullopt : std::optional(found->kind);
}

std::string ScheduleShape::problem() const {
    if (kind != ScheduleKind::Interleaved) {
        return chunks == 1
            ? std::string()
            : "--virtual-stages " + std::to_string(chunks) + " goes with --schedule interleaved only";
    }
    if (stages < 2 || chunks < 2) {
        return "--schedule interleaved needs --pp 2 or more and --virtual-stages 2 or more";
    }
    if (microBatches % stages != 0) {
        return "--schedule interleaved needs --micro-batches to be a multiple of --pp; "
            + std::to_string(microBatches) + " is no multiple of " + std::to_string(stages);
    }
    return {};
}

Schedule makeSchedule(const ScheduleShape& shape) {
    return Builder(shape).build();
}

} // namespace gdt::pipeline
