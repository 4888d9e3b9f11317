// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_event.h"

#include <cmath>

namespace gdt::runtime::cuda {

Status CudaEvent::destroy() {
    m_device->activate();
    return statusOf(cudaEventDestroy(m_handle));
}

Status CudaEvent::query() {
    m_device->activate();
    return statusOf(cudaEventQuery(m_handle));
}

Status CudaEvent::synchronize() {
    m_device->activate();
    return statusOf(cudaEventSynchronize(m_handle));
}

Status CudaEvent::elapsedNs(backend::Event& end, std::int64_t* ns) {
    m_device->activate();
    float milliseconds = 0;
    GDT_TRY(statusOf(cudaEventElapsedTime(&milliseconds, m_handle, static_cast<CudaEvent&>(end).m_handle)));
    *ns = std::llround(static_cast<double>(milliseconds) * 1e6);
    return Status::Success;
}

} // namespace gdt::runtime::cuda
