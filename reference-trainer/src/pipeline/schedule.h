// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace gdt::pipeline {

enum class Operation { Forward, Backward, GradientSync };

/// One entry of a stage's work list for one global batch; microBatch is -1 where it does not apply.
struct Instruction {
    Operation operation;
    std::int64_t microBatch;

    friend bool operator==(const Instruction&, const Instruction&) = default;
};

/// The list for a single stage: forward and backward of each micro-batch in turn, so that one set of
/// activation buffers is enough, then the data-parallel gradient reduction.
std::vector<Instruction> singleStageSchedule(std::int64_t microBatches);

} // namespace gdt::pipeline
