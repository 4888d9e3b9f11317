// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace gd::facts {

// What names tell. Case does not matter.

// A collective's kernel: NCCL's device kernels and those that host communicators name after the operation.
bool isCommKernel(std::string_view kernelName);
// Updates parameters: the last kernels of a training step.
bool isOptimizerKernel(std::string_view kernelName);
// Data decide where such a kernel reads or writes: gathers, scatters, look-ups by index.
bool readsWhereDataSay(std::string_view kernelName);
// A range during which a step may be slow for a good reason: checkpoint, evaluation, logging.
bool isExclusionRange(std::string_view rangeName);
// A range in which the thread waits for or prepares input.
bool isDataRange(std::string_view rangeName);

} // namespace gd::facts
