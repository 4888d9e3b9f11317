// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gdt::pipeline {

/// In which order a stage runs the forward and backward passes of a global batch.
enum class ScheduleKind {
    OneFOneB, ///< warm-up forwards, then one forward and one backward in turn (PipeDream-Flush, Megatron)
    GPipe, ///< all forwards, then all backwards
    Interleaved, ///< 1F1B over several chunks of the model a stage
    Serial, ///< each micro-batch goes through the whole pipeline and back before the next starts
};

[[nodiscard]] const char* scheduleName(ScheduleKind kind);
[[nodiscard]] std::optional<ScheduleKind> scheduleFromName(std::string_view name);

enum class Operation {
    Forward,
    Backward,
    SendForward,
    ReceiveForward,
    SendBackward,
    ReceiveBackward,
    GradientSync
};

/// One entry of a stage's work list for one global batch.
struct Instruction {
    Operation operation = Operation::Forward;
    std::int64_t microBatch = -1; ///< -1 for GradientSync
    int chunk = 0; ///< of the stage's model chunks
    int slot = 0; ///< of the chunk's sets of activation buffers
    int peer = -1; ///< stage at the other end of a message
    std::int64_t tick = 0; ///< messages of one tick that follow each other are one group

    friend bool operator==(const Instruction&, const Instruction&) = default;
};

struct ScheduleShape {
    ScheduleKind kind = ScheduleKind::OneFOneB;
    int stages = 1;
    int chunks = 1; ///< of a stage; more than one with Interleaved only
    std::int64_t microBatches = 1;

    /// Empty when the shape has a schedule, else one sentence that names the option to change.
    [[nodiscard]] std::string problem() const;
};

/// A schedule as data: for each stage what it does, in order, and how many sets of buffers each of its chunks
/// needs. Chunk c of stage p is part c * stages + p of the model. Made by letting all stages work in ticks of
/// one pass each: an activation is sent at the end of the tick before the receiver uses it, a gradient at the
/// end of the tick that made it, and all messages of a stage and tick form one group. Both ends of a message
/// thus have it in the group of the same tick, so no order of groups can deadlock, even when a send waits for
/// its receiver.
struct Schedule {
    struct Stage {
        std::vector<Instruction> instructions;
        std::vector<int> slots; ///< by chunk
    };
    std::vector<Stage> stages;
    std::int64_t ticks = 0; ///< from the first forward to the last backward
};

[[nodiscard]] Schedule makeSchedule(const ScheduleShape& shape);

} // namespace gdt::pipeline
