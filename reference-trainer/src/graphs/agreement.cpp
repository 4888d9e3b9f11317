// SPDX-License-Identifier: Apache-2.0
#include "graphs/agreement.h"

namespace gdt::graphs {

using runtime::CopyKind;
using runtime::Status;

CommunicatorAgreement::CommunicatorAgreement(runtime::Device& device, comm::Communicator& communicator)
    : m_device(device)
    , m_communicator(communicator) { }

CommunicatorAgreement::~CommunicatorAgreement() {
    (void)m_device.release(m_word);
}

Status CommunicatorAgreement::open() {
    GDT_TRY(runtime::Stream::create(m_device, m_stream, runtime::StreamFlags::NonBlocking));
    void* memory = nullptr;
    GDT_TRY(m_device.allocate(&memory, sizeof(double)));
    m_word = static_cast<double*>(memory);
    return Status::Success;
}

Status CommunicatorAgreement::count(double* refusals) {
    // Pageable memory: the first copy has read it and the second has written it when the call returns.
    GDT_TRY(m_stream.memcpyAsync(m_word, refusals, sizeof(double), CopyKind::HostToDevice));
    GDT_TRY(m_communicator.at().allReduce(
        m_word, m_word, 1, comm::DataType::Float64, comm::ReduceOp::Sum, m_stream));
    return m_stream.memcpyAsync(refusals, m_word, sizeof(double), CopyKind::DeviceToHost);
}

bool CommunicatorAgreement::everyone(bool ok) {
    double refusals = ok ? 0 : 1;
    return runtime::ok(count(&refusals)) && refusals == 0;
}

} // namespace gdt::graphs
