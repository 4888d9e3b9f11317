// SPDX-License-Identifier: Apache-2.0
#include "parallel/side_stream.h"

namespace gdt::parallel {

using runtime::Status;

Status SideStream::open(runtime::Device& device) {
    GDT_TRY(runtime::Stream::create(device, m_stream, runtime::StreamFlags::NonBlocking));
    GDT_TRY(runtime::Event::create(device, m_forked, runtime::EventFlags::DisableTiming));
    return runtime::Event::create(device, m_done, runtime::EventFlags::DisableTiming);
}

Status SideStream::fork(runtime::Stream& main) {
    m_pending = true;
    GDT_TRY(main.record(m_forked));
    return m_stream.wait(m_forked);
}

Status SideStream::join(runtime::Stream& main) {
    if (!m_pending) {
        return Status::Success;
    }
    m_pending = false;
    GDT_TRY(m_stream.record(m_done));
    return main.wait(m_done);
}

} // namespace gdt::parallel
