// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_event.h"

#include <cmath>

namespace gdt::runtime::cuda {

Status CudaEvent::destroy() {
    const WatchedCall call = m_device->enter("cuEventDestroy");
    return statusOf(cudaEventDestroy(m_handle));
}

Status CudaEvent::query() {
    const WatchedCall call = m_device->enter("cuEventQuery");
    return statusOf(cudaEventQuery(m_handle));
}

Status CudaEvent::synchronize() {
    const WatchedCall call = m_device->enter("cuEventSynchronize");
    return statusOf(cudaEventSynchronize(m_handle));
}

Status CudaEvent::elapsedNs(backend::Event& end, std::int64_t* ns) {
    const WatchedCall call = m_device->enter("cuEventElapsedTime");
    float milliseconds = 0;
    GDT_TRY(statusOf(cudaEventElapsedTime(&milliseconds, m_handle, static_cast<CudaEvent&>(end).m_handle)));
    *ns = std::llround(static_cast<double>(milliseconds) * 1e6);
    return Status::Success;
}

} // namespace gdt::runtime::cuda
