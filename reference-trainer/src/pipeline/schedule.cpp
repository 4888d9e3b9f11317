// SPDX-License-Identifier: Apache-2.0
#include "pipeline/schedule.h"

namespace gdt::pipeline {

std::vector<Instruction> singleStageSchedule(std::int64_t microBatches) {
    std::vector<Instruction> list;
    for (std::int64_t m = 0; m < microBatches; ++m) {
        list.push_back({Operation::Forward, m});
        list.push_back({Operation::Backward, m});
    }
    list.push_back({Operation::GradientSync, -1});
    return list;
}

} // namespace gdt::pipeline
