// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/stream.h"

namespace gdt::optim {

/// Places in the optimizer step where a fault can act; this class leaves everything alone. Calls come from
/// the thread that issues the step.
class OptimizerHooks {
public:
    virtual ~OptimizerHooks() = default;

    /// After the kernel that computes the learning rate and Adam's powers on the device.
    virtual runtime::Status afterSchedule(runtime::Stream&) { return runtime::Status::Success; }
    /// The largest gradient norm, which the clip kernel gets by value.
    [[nodiscard]] virtual double clipNorm(double configured) { return configured; }
    /// False: the gradients are not cleared as a part of the step.
    [[nodiscard]] virtual bool clearsGradients() { return true; }
};

} // namespace gdt::optim
