// SPDX-License-Identifier: Apache-2.0
#include "parallel/gradient_reduction.h"

namespace gdt::parallel {

runtime::Status GradientReduction::issue(runtime::Stream& stream) const {
    if (communicator == nullptr) {
        return runtime::Status::Success;
    }
    GDT_TRY(communicator->allReduce(gradients, gradients, count, type, comm::ReduceOp::Sum, stream));
    return communicator->allReduce(loss, loss, 1, comm::DataType::Float64, comm::ReduceOp::Sum, stream);
}

} // namespace gdt::parallel
